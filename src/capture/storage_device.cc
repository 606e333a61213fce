#include "capture/storage_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr int64_t kMostFdinfo = 65536;
constexpr int64_t kMostMounts = 16 << 20;  // a machine with many containers has thousands of mounts
constexpr int64_t kMostNumber = UINT32_MAX;

uint64_t device_number(uint64_t high, uint64_t low) {
  return high << 20 | low;
}

}  // namespace

std::optional<int64_t> parse_fdinfo_mount(std::string_view fdinfo) {
  constexpr std::string_view kMount = "mnt_id:";
  std::string_view line;
  while (next_line(fdinfo, line))
    if (line.starts_with(kMount)) return parse_int(trim(line.substr(kMount.size())));
  return std::nullopt;
}

// "36 35 98:0 / /mnt rw ...": the mount, its parent, the device.
std::optional<uint64_t> device_of_mount(std::string_view mountinfo, int64_t mount) {
  std::string_view line;
  while (next_line(mountinfo, line)) {
    int64_t number = 0;
    if (!next_number(line, number) || number != mount) continue;
    next_word(line);
    std::string_view device = next_word(line);
    size_t colon = device.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto high = parse_int(device.substr(0, colon));
    auto low = parse_int(device.substr(colon + 1));
    if (!high || !low || *high < 0 || *low < 0 || *high > kMostNumber || *low > kMostNumber) return std::nullopt;
    return device_number(static_cast<uint64_t>(*high), static_cast<uint64_t>(*low));
  }
  return std::nullopt;
}

std::optional<uint64_t> storage_device(pid_t viewer, const std::string& folder) {
  Fd opened(::open(cat("/proc/", viewer, "/root", folder).c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid()) return std::nullopt;
  auto fdinfo = read_file(cat("/proc/self/fdinfo/", opened.get()), kMostFdinfo);
  auto mounts = read_file(cat("/proc/", viewer, "/mountinfo"), kMostMounts);
  auto mount = fdinfo ? parse_fdinfo_mount(*fdinfo) : std::nullopt;
  auto device = mount && mounts ? device_of_mount(*mounts, *mount) : std::nullopt;
  struct stat info {};
  if (device || ::fstat(opened.get(), &info) != 0) return device;
  return device_number(major(info.st_dev), minor(info.st_dev));
}

}  // namespace culprit
