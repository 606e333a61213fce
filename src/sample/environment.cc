// What the node is, for the manifest: two runs compare only if these agree.
#include <algorithm>

#include "base/procfile.h"
#include "base/text.h"
#include "sample/block.h"
#include "sample/folder.h"
#include "sample/percent.h"
#include "sample/sampler.h"

namespace culprit {

namespace {

int count_cpus(const std::string& root) {
  std::string text = small_file(root + "/proc/stat");
  int count = 0;
  std::string_view rest = text, line;
  while (next_line(rest, line))
    if (line.starts_with("cpu") && line.size() > 3 && line[3] >= '0' && line[3] <= '9') ++count;
  return count;
}

// "mq-deadline kyber [none]" -> "none"
std::string chosen(std::string_view text) {
  size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::string(text);
  return std::string(text.substr(open + 1, close - open - 1));
}

// "sda1" of "sda", "nvme0n1p2" of "nvme0n1"; "sdab" is another disk.
bool is_partition_of(std::string_view device, std::string_view disk) {
  if (!device.starts_with(disk)) return false;
  device.remove_prefix(disk.size());
  if (device.starts_with('p')) device.remove_prefix(1);
  return parse_int(device).has_value();
}

// A file system's device is on a disk when it is the disk, a partition of it, or stacked on either.
bool is_on_disk(const std::string& root, const std::string& device, const std::string& disk) {
  if (device == disk || is_partition_of(device, disk)) return true;
  std::vector<std::string> below = devices_below(root, device);
  return std::find(below.begin(), below.end(), disk) != below.end();
}

void add_mounts(const SampleEnv& env, std::map<std::string, std::string>& out) {
  constexpr size_t kMostMounts = 64;  // enough for any server; containers may have thousands of bind mounts
  std::string text = small_file(env.root + "/proc/mounts");
  std::string_view rest = text, line;
  std::vector<std::string> seen;
  while (next_line(rest, line) && seen.size() < kMostMounts) {
    std::string_view device = next_word(line), folder = next_word(line), type = next_word(line),
                     options = next_word(line);
    if (!device.starts_with("/dev/") || options.empty()) continue;
    std::string name = kernel_block_name(env.root, device);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;  // the same file system, mounted again
    const auto& disks = env.node.disks;
    bool wanted = disks.empty() || std::any_of(disks.begin(), disks.end(), [&](const std::string& disk) {
                    return is_on_disk(env.root, name, kernel_block_name(env.root, disk));
                  });
    if (!wanted) continue;
    seen.push_back(name);
    out[cat("mount.", percent_encode(folder))] = percent_encode_keep_blanks(cat(name, " ", type, " ", options));
  }
}

void add_schedulers(const SampleEnv& env, std::map<std::string, std::string>& out) {
  std::vector<std::string> disks;
  for (const std::string& disk : env.node.disks) disks.push_back(kernel_block_name(env.root, disk));
  if (disks.empty()) disks = folder_names(env.root + "/sys/block");
  for (std::string& disk : disks) {
    std::replace(disk.begin(), disk.end(), '/', '!');
    std::string folder = cat(env.root, "/sys/block/", disk);
    std::string scheduler = chosen(small_file(folder + "/queue/scheduler"));
    if (!scheduler.empty() && small_file(folder + "/size") != "0")
      out[cat("scheduler.", percent_encode(disk))] = percent_encode(scheduler);
  }
}

}  // namespace

std::map<std::string, std::string> environment(const SampleEnv& env) {
  constexpr struct {
    std::string_view key, path;
  } kFiles[] = {{"kernel", "/proc/sys/kernel/osrelease"},
                {"hostname", "/proc/sys/kernel/hostname"},
                {"tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"}};
  std::map<std::string, std::string> out;
  for (const auto& file : kFiles) {
    std::string text = small_file(cat(env.root, file.path));
    if (!text.empty()) out[std::string(file.key)] = percent_encode_keep_blanks(text);
  }
  if (int cpus = count_cpus(env.root)) out["cpus"] = cat(cpus);
  add_schedulers(env, out);
  add_mounts(env, out);
  constexpr size_t kMostValue = 4096;  // nobody reads longer ones, and a line of the stream holds 64 kB
  for (auto& [key, value] : out) value.resize(std::min(value.size(), kMostValue));
  return out;
}

}  // namespace culprit
