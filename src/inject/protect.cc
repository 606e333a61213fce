#include "inject/protect.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

namespace files = std::filesystem;

constexpr std::string_view kSystemMounts[] = {"/", "/boot", "/boot/efi", "/usr", "/var"};
constexpr size_t kMostDevices = 4096;  // sysfs has no cycles, a broken tree may

std::string real_path(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (files::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

bool is_whole(const std::string& name, const std::string& sys) {
  return !name.empty() && path_exists(cat(sys, "/block/", name));
}

// What a stacked device lies on.
std::string slaves_folder(const std::string& name, const std::string& sys) {
  return cat(sys, "/block/", name, "/slaves");
}

// A partition's folder lies in its disk's.
std::string disk_of_partition(const std::string& name, const std::string& sys) {
  for (const std::string& disk : names_in(sys + "/block")) {
    if (name.starts_with(disk) && path_exists(cat(sys, "/block/", disk, "/", name))) return disk;
  }
  return "";
}

// "8:1" -> "sda1"; "" for what is no block device (0:22 of tmpfs).
std::string name_of_number(std::string_view number, const std::string& sys) {
  std::string link = cat(sys, "/dev/block/", number);
  return path_exists(link) ? last_part(real_path(link)) : "";
}

struct SystemDevice {
  std::string name;
  std::string use;  // "holds /usr", "is swap space"
};

// mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS... - TYPE SOURCE SUPER
void add_mount(std::string_view line, const std::string& sys, std::vector<SystemDevice>& out) {
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) words.push_back(word);
  auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 5 || std::end(words) - dash < 3) return;
  bool system = std::find(std::begin(kSystemMounts), std::end(kSystemMounts), words[4]) != std::end(kSystemMounts);
  if (!system) return;
  std::string name = name_of_number(words[2], sys);
  if (name.empty() && dash[2].starts_with("/dev/")) name = block_name(dash[2], sys);  // btrfs has no device number
  if (!name.empty()) out.push_back({name, cat("holds ", words[4])});
}

Result<std::vector<SystemDevice>> system_devices(const std::string& proc, const std::string& sys) {
  std::vector<SystemDevice> devices;
  ASSIGN_OR_RETURN(std::string mounts, read_file(proc + "/self/mountinfo"));
  std::string_view text = mounts, line;
  while (next_line(text, line)) add_mount(line, sys, devices);
  auto swaps = read_file(proc + "/swaps");  // a kernel without swap has no such file
  text = swaps ? std::string_view(*swaps) : "";
  while (next_line(text, line)) {
    std::string_view device = next_word(line);
    if (device.starts_with("/dev/")) devices.push_back({block_name(device, sys), "is swap space"});
  }
  return devices;
}

bool intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& each) { return b.contains(each); });
}

}  // namespace

std::string block_name(std::string_view device, const std::string& sys) {
  std::string name(device);
  if (name.starts_with("/dev/")) name = real_path(name);
  if (name.starts_with("/dev/")) name.erase(0, 5);
  std::replace(name.begin(), name.end(), '/', '!');  // as sysfs writes cciss/c0d0
  if (is_whole(name, sys)) return name;
  std::string mapped = name.starts_with("mapper!") ? name.substr(7) : name;
  for (const std::string& disk : names_in(sys + "/block")) {
    auto dm_name = read_file(cat(sys, "/block/", disk, "/dm/name"), 4096);
    if (dm_name && trim(*dm_name) == mapped) return disk;
  }
  return name;
}

std::set<std::string> devices_below(const std::string& name, const std::string& sys) {
  std::set<std::string> seen;
  std::vector<std::string> todo = {name};
  while (!todo.empty() && seen.size() < kMostDevices) {
    std::string next = std::move(todo.back());
    todo.pop_back();
    if (next.empty() || !seen.insert(next).second) continue;
    if (!is_whole(next, sys)) {
      todo.push_back(disk_of_partition(next, sys));
      continue;
    }
    for (std::string& below : names_in(slaves_folder(next, sys))) todo.push_back(std::move(below));
  }
  return seen;
}

std::set<std::string> whole_disks(const std::string& name, const std::string& sys) {
  std::set<std::string> whole;
  for (const std::string& device : devices_below(name, sys)) {
    if (is_whole(device, sys) && names_in(slaves_folder(device, sys)).empty()) whole.insert(device);
  }
  return whole;
}

Status check_not_protected(std::string_view device, const std::string& proc, const std::string& sys) {
  std::string name = block_name(device, sys);
  std::set<std::string> target = whole_disks(name, sys);
  if (target.empty())
    return input_error(cat("there is no block device ", printable(device), " on this node"),
                       "correct `disks` in cluster.toml");
  ASSIGN_OR_RETURN(std::vector<SystemDevice> protected_ones, system_devices(proc, sys));
  for (const SystemDevice& each : protected_ones) {
    if (!intersect(target, whole_disks(each.name, sys))) continue;
    std::string same = each.name == name ? "" : cat(" (by ", each.name, ", which shares a disk with it)");
    return input_error(cat(name, " ", each.use, same, ": no fault may touch it"),
                       "name only the file system's own disks in cluster.toml");
  }
  return Ok{};
}

}  // namespace culprit
