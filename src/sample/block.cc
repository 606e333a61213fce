#include "sample/block.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "sample/folder.h"

namespace culprit {

namespace {

std::string block_folder(const std::string& root) {
  return root + "/sys/block/";
}

std::string sysfs_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '/', '!');
  return out;
}

std::string diskstats_name(std::string name) {
  std::replace(name.begin(), name.end(), '!', '/');
  return name;
}

// The disk a partition is on: its folder lies in the disk's.
std::string disk_of_partition(const std::string& root, std::string_view partition) {
  std::string name = sysfs_name(partition);
  for (const std::string& disk : folder_names(block_folder(root)))
    if (name.starts_with(disk) && path_exists(cat(block_folder(root), disk, "/", name))) return diskstats_name(disk);
  return "";
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// Takes the letter and the digits after it off the front; false when they are not there.
bool take_number(std::string_view& text, char letter, std::string_view& digits) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return !digits.empty();
}

std::vector<std::string> nvme_paths(const std::string& root, std::string_view head) {
  std::vector<std::string> paths;
  if (!head.starts_with("nvme")) return paths;
  for (const std::string& disk : folder_names(block_folder(root)))
    if (nvme_head(disk) == head) paths.push_back(disk);
  return paths;
}

}  // namespace

std::string nvme_head(std::string_view name) {
  std::string_view subsystem, controller, space;
  if (!name.starts_with("nvm")) return "";
  name.remove_prefix(3);
  if (!take_number(name, 'e', subsystem) || !take_number(name, 'c', controller) || !take_number(name, 'n', space))
    return "";
  return name.empty() ? cat("nvme", subsystem, "n", space) : "";
}

bool is_whole_device(const std::string& root, std::string_view name) {
  return !name.empty() && name[0] != '.' && path_exists(block_folder(root) + sysfs_name(name));
}

BlockDevice describe_block(const std::string& root, std::string_view name) {
  BlockDevice device;
  std::string folder = block_folder(root) + sysfs_name(name);
  if (!is_whole_device(root, name)) {
    device.kind = "partition";
    return device;
  }
  for (std::string& slave : folder_names(folder + "/slaves")) device.slaves.push_back(diskstats_name(std::move(slave)));
  for (std::string& path : nvme_paths(root, name)) device.slaves.push_back(std::move(path));
  device.dm_name = small_file(folder + "/dm/name");
  if (path_exists(folder + "/dm")) {
    device.kind = small_file(folder + "/dm/uuid").starts_with("mpath-") ? "multipath" : "dm";
  } else if (path_exists(folder + "/md")) {
    device.kind = "md";
  } else if (name.starts_with("loop")) {
    device.kind = "loop";
  }
  return device;
}

std::vector<std::string> devices_below(const std::string& root, std::string_view name) {
  constexpr size_t kMostDevices = 4096;  // sysfs has no cycles, a broken fixture may
  std::vector<std::string> below;
  std::vector<std::string> todo = describe_block(root, name).slaves;
  while (!todo.empty() && below.size() < kMostDevices) {
    std::string next = std::move(todo.back());
    todo.pop_back();
    if (contains(below, next)) continue;
    below.push_back(next);
    if (!is_whole_device(root, next)) {
      std::string disk = disk_of_partition(root, next);
      if (!disk.empty()) todo.push_back(disk);
      continue;
    }
    for (std::string& slave : describe_block(root, next).slaves) todo.push_back(std::move(slave));
  }
  return below;
}

std::string kernel_block_name(const std::string& root, std::string_view text) {
  std::string name(text);
  if (root.empty() && name.starts_with("/dev/")) {
    std::unique_ptr<char, void (*)(void*)> real(::realpath(name.c_str(), nullptr), std::free);
    if (real) name = real.get();
  }
  if (name.starts_with("/dev/")) name.erase(0, 5);
  std::string dm_name = name.starts_with("mapper/") ? name.substr(7) : name;
  if (is_whole_device(root, name)) return name;
  for (const std::string& disk : folder_names(block_folder(root)))
    if (small_file(cat(block_folder(root), disk, "/dm/name")) == dm_name) return diskstats_name(disk);
  return name;
}

}  // namespace culprit
