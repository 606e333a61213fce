#include "lab/loop.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int kTries = 20;  // somebody else may take the free device first

Result<int> free_device(const Fd& control) {
  int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) return system_error("there is no free loop device", errno);
  return number;
}

// The device's file may appear a moment after the device.
Fd open_device(const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (fd.valid() || errno != ENOENT) return fd;
    timespec pause{0, 20 * kNsPerMs};
    ::nanosleep(&pause, nullptr);
  }
  return Fd();
}

}  // namespace

std::vector<std::string> loop_devices() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", failed)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("loop")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string loop_backing(std::string_view device) {
  auto text = read_file(cat("/sys/block/", device, "/loop/backing_file"));
  return text ? std::string(trim(*text)) : "";
}

Result<LoopDevice> attach_loop(const std::string& file) {
  Fd backing(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!backing.valid()) return system_error(cat("cannot open ", file), errno);
  Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) return system_error("cannot open /dev/loop-control", errno, "the kernel needs loop devices");
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::string> before = loop_devices();
    ASSIGN_OR_RETURN(int number, free_device(control));
    LoopDevice device{.name = cat("loop", number), .open = open_device(cat("/dev/loop", number))};
    if (!device.open.valid()) return system_error(cat("cannot open /dev/loop", number), errno);
    device.added = std::find(before.begin(), before.end(), device.name) == before.end();
    loop_config config{};
    config.fd = static_cast<uint32_t>(backing.get());
    config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
    if (::ioctl(device.open.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) return system_error(cat("cannot attach ", file, " to ", device.name), errno);
  }
  return system_error("every free loop device was taken by somebody else", EBUSY);
}

Status detach_loop(const std::string& device) {
  Fd fd(::open(cat("/dev/", device).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(cat("cannot open ", device), errno);
  if (::ioctl(fd.get(), LOOP_CLR_FD) == 0 || errno == ENXIO) return Ok{};
  return system_error(cat("cannot detach ", device), errno);
}

void remove_loop(const std::string& device) {
  Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  auto number = parse_int(std::string_view(device).substr(4));
  if (control.valid() && number) ::ioctl(control.get(), LOOP_CTL_REMOVE, static_cast<int>(*number));
}

}  // namespace culprit
