// A process on the server reads from the file system's own disk with direct I/O, as the paper's dd does (001, section
// 9). The device is opened for reading only: nothing on it can change. Several readers share one position, so that the
// disk sees one sequential stream of some depth: with less it would starve behind a busy file system, with much more
// the file system would.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <new>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "inject/fault.h"
#include "inject/hog.h"
#include "inject/preflight.h"
#include "inject/protect.h"

namespace culprit {

namespace {

constexpr int64_t kAlign = 4096;  // of buffers, offsets and sizes of direct I/O
constexpr int64_t kSmallestBlock = kAlign;
constexpr int64_t kLargestBlock = int64_t{64} << 20;
constexpr double kMostReaders = 64;

struct Settings {
  std::string path;
  int64_t block = 0;
  int64_t blocks = 0;  // of the device
  int depth = 0;
  double share = 1;
  int64_t rate = 0;
};

Result<Fd> open_device(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd.valid()) return system_error(cat("cannot read ", path, " directly"), errno);
  return fd;
}

Result<Settings> settings_of(const FaultWork& work) {
  Settings s;
  std::string name = block_name(chosen_disk(work.part), work.sys);
  for (char& c : name) c = c == '!' ? '/' : c;
  s.path = "/dev/" + name;
  ASSIGN_OR_RETURN(s.block, bytes_param(work.part, "block", kSmallestBlock, kLargestBlock));
  ASSIGN_OR_RETURN(double depth, number_param(work.part, "depth", 1, kMostReaders));
  ASSIGN_OR_RETURN(s.share, number_param(work.part, "share", 0.01, 1));
  ASSIGN_OR_RETURN(s.rate, bytes_param(work.part, "rate", 0, int64_t{100'000'000'000}));
  s.block = (s.block + kAlign - 1) / kAlign * kAlign;
  s.depth = static_cast<int>(std::lround(depth));
  ASSIGN_OR_RETURN(Fd device, open_device(s.path));
  uint64_t bytes = 0;
  if (::ioctl(device.get(), BLKGETSIZE64, &bytes) != 0)
    return system_error(cat(s.path, " is not a block device"), errno);
  s.blocks = static_cast<int64_t>(bytes) / s.block;
  if (s.blocks < 1) return input_error(cat(s.path, " is smaller than a block of the hog"), "choose a smaller block=");
  return s;
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(settings_of(work));
  return Ok{};
}

void read_for_ever(const Settings& s, std::atomic<uint64_t>& next) {
  auto device = open_device(s.path);
  void* buffer = std::aligned_alloc(static_cast<size_t>(kAlign), static_cast<size_t>(s.block));
  if (!device || !buffer) return;
  Pace pace(s.rate > 0 ? std::max<int64_t>(1, s.rate / s.depth) : 0);
  while (true) {
    auto block = static_cast<int64_t>(next.fetch_add(1) % static_cast<uint64_t>(s.blocks));
    int64_t begin = monotonic_now_ns();
    ssize_t n = ::pread(device->get(), buffer, static_cast<size_t>(s.block), block * s.block);
    if (n <= 0) ::usleep(10'000);  // a device that fails at once must not become a hog of the processor
    pace.used(n > 0 ? n : 0);
    rest_after(monotonic_now_ns() - begin, s.share);
  }
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(Settings s, settings_of(work));
  void* page =
      ::mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return system_error("cannot share memory", errno);
  auto* next = new (page) std::atomic<uint64_t>(work.part.seed % static_cast<uint64_t>(s.blocks));
  for (int i = 0; i < s.depth; ++i) RETURN_IF_ERROR(start_hog(work, [s, next] { read_for_ever(s, *next); }));
  return Ok{};
}

}  // namespace

extern const FaultInfo fault_disk_hog;
const FaultInfo fault_disk_hog = {
    .name = "disk_hog",
    .summary = "a process on the server reads from the file system's disk",
    .params = {{"share", "FRACTION", "1", "of the time each reader has a request on the disk, from 0.01"},
               {"block", "BYTES", "1MiB", "size of a read"},
               {"depth", "COUNT", "2", "reads at a time"},
               {"rate", "RATE", "0", "at most so many bytes per second; 0: no limit"},
               {"disk", "WORD", "", "which of the node's disks; without it: the first"}},
    .needs_disk = true,
    .prepare = prepare,
    .apply = apply,
    .undo = kill_hogs,
    .active = hogs_alive,
};

}  // namespace culprit
