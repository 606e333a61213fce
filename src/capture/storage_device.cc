#include "capture/storage_device.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

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

// In the viewer's root and mounts, symbolic links included.
Fd open_folder(pid_t viewer, const std::string& folder) {
  Fd root(::open(cat("/proc/", viewer, "/root").c_str(), O_PATH | O_CLOEXEC));
  if (!root.valid()) return root;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  Fd opened(static_cast<int>(::syscall(SYS_openat2, root.get(), folder.c_str(), &how, sizeof how)));
  if (opened.valid() || errno != ENOSYS) return opened;
  return Fd(::open(cat("/proc/", viewer, "/root", folder).c_str(), O_PATH | O_CLOEXEC));  // before Linux 5.6
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
  const Fd opened = open_folder(viewer, folder);
  if (!opened.valid()) return std::nullopt;
  auto fdinfo = read_file(cat("/proc/self/fdinfo/", opened.get()), kMostFdinfo);
  auto mounts = read_file(cat("/proc/", viewer, "/mountinfo"), kMostMounts);
  auto mount = fdinfo ? parse_fdinfo_mount(*fdinfo) : std::nullopt;
  auto device = mount && mounts ? device_of_mount(*mounts, *mount) : std::nullopt;
  struct stat info {};
  if (device || ::fstat(opened.get(), &info) != 0) return device;
  return device_number(major(info.st_dev), minor(info.st_dev));
}

std::string real_folder(pid_t viewer, const std::string& folder) {
  const Fd opened = open_folder(viewer, folder);
  if (!opened.valid()) return "";
  char text[PATH_MAX];
  const ssize_t size = ::readlink(cat("/proc/self/fd/", opened.get()).c_str(), text, sizeof text);
  return size <= 0 || size == sizeof text ? "" : std::string(text, static_cast<size_t>(size));
}

}  // namespace culprit
