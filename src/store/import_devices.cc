#include "store/import_devices.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr int64_t kMinorsPerDisk = 16;  // of SCSI disks: the disk and 15 partitions

bool ends_in_digit(std::string_view text) {
  return !text.empty() && kDigits.find(text.back()) != std::string_view::npos;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

struct DeviceNumber {
  int64_t major = 0;
  int64_t minor = 0;
};

std::optional<DeviceNumber> number_of(std::string_view device) {
  if (!device.starts_with("dev")) return std::nullopt;
  const std::vector<std::string_view> parts = split(device.substr(3), '-');
  if (parts.size() != 2 || !is_number(parts[0]) || !is_number(parts[1])) return std::nullopt;
  const auto first = parse_int(parts[0]), second = parse_int(parts[1]);
  if (!first || !second) return std::nullopt;
  return DeviceNumber{*first, *second};
}

bool is_scsi(int64_t major) {
  return major == 8 || (major >= 65 && major <= 71);
}

// 8 sd, 65-71 more sd, 259 nvme; 1 ram, 2 floppy, 7 loop, 9 md, 11 CD; 252-254 device mapper, but virtio as well
std::vector<std::string> stacked_by_number(const std::vector<std::string>& devices) {
  std::vector<std::string> always, maybe;
  bool disks = false;
  for (const std::string& device : devices) {
    const auto number = number_of(device);
    if (!number) continue;
    const int64_t major = number->major;
    if (is_scsi(major) || major == 259) disks = true;
    if (major == 1 || major == 2 || major == 7 || major == 9 || major == 11) always.push_back(device);
    if (major >= 252 && major <= 254) maybe.push_back(device);
  }
  if (!disks) return maybe.empty() ? std::vector<std::string>() : always;
  always.insert(always.end(), maybe.begin(), maybe.end());
  return always;
}

// The kernel puts a p before the partition's number where the disk's name ends in a digit: sda1, nvme0n1p1. The disks
// whose names do not end in one are few; interfaces like eth1 and eth10 have nothing to do with each other.
bool is_partition(const std::set<std::string>& all, const std::string& device) {
  if (const auto number = number_of(device)) {
    const int64_t rest = number->minor % kMinorsPerDisk;
    return is_scsi(number->major) && rest != 0 && all.contains(cat("dev", number->major, "-", number->minor - rest));
  }
  const size_t last = device.find_last_not_of(kDigits);
  if (last == std::string::npos || last + 1 == device.size()) return false;
  std::string disk = device.substr(0, last + 1);
  constexpr std::string_view kLettered[] = {"sd", "vd", "xvd", "hd", "dasd"};
  if (std::any_of(std::begin(kLettered), std::end(kLettered),
                  [&](std::string_view front) { return disk.starts_with(front); }))
    return all.contains(disk);
  if (disk.back() != 'p') return false;
  disk.pop_back();
  return ends_in_digit(disk) && all.contains(disk);
}

bool is_vlan(const std::set<std::string>& all, const std::string& device) {
  const size_t dot = device.rfind('.');
  return dot != std::string::npos && is_number(std::string_view(device).substr(dot + 1)) &&
         all.contains(device.substr(0, dot));
}

bool is_bridge(std::string_view device) {
  for (std::string_view front : {std::string_view("vmbr"), std::string_view("br")})
    if (device.starts_with(front)) return is_number(device.substr(front.size()));
  return false;
}

bool looks_like_interface(std::string_view device) {
  constexpr std::string_view kFronts[] = {"e", "ib", "bond", "team"};  // eth0, eno1, em1
  return std::any_of(std::begin(kFronts), std::end(kFronts),
                     [&](std::string_view front) { return device.starts_with(front); });
}

}  // namespace

std::string sd_name(std::string_view device) {
  const auto number = number_of(device);
  if (!number || !is_scsi(number->major) || number->minor > 255) return "";
  const int64_t group = number->major == 8 ? 0 : number->major - 64;  // of 16 disks each
  const int64_t disk = group * 16 + number->minor / kMinorsPerDisk;
  const int64_t partition = number->minor % kMinorsPerDisk;
  std::string name = "sd";
  if (disk >= 26) name += static_cast<char>('a' + disk / 26 - 1);
  name += static_cast<char>('a' + disk % 26);
  return partition == 0 ? name : cat(name, partition);
}

std::vector<std::string> stacked_devices(const std::vector<std::string>& devices) {
  const std::set<std::string> all(devices.begin(), devices.end());
  const bool interfaces = std::any_of(devices.begin(), devices.end(), looks_like_interface);
  std::vector<std::string> out = stacked_by_number(devices);
  for (const std::string& device : devices) {
    if (std::find(out.begin(), out.end(), device) != out.end()) continue;
    if (is_partition(all, device) || is_vlan(all, device) || (interfaces && is_bridge(device))) out.push_back(device);
  }
  return out;
}

void use_names_of_input(const std::set<std::string>& devices, std::vector<std::string>& disks) {
  for (std::string& disk : disks) {
    if (devices.contains(disk)) continue;
    auto same = std::find_if(devices.begin(), devices.end(), [&](const std::string& d) { return sd_name(d) == disk; });
    if (same != devices.end()) disk = *same;
  }
}

}  // namespace culprit
