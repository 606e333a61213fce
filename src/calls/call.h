// What a traced process did, one record each: a system call, a signal, an end, or the completion of an asynchronous
// request; and what its descriptors were. Backends make these, the logs keep them (docs/formats/sclog.md), detectors
// and texts are made from them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace culprit {

enum class CallKind : uint8_t {
  call,    // number: the system call's
  signal,  // delivered; number: the signal's, args[0]: si_code, args[1]: the sender's process (0: the kernel)
  exit,    // of a thread; number 1: the last of its process; result: the status as wait(2) has it
  aio,     // completion seen by io_getevents; number: the iocb's opcode, args: fd, bytes, offset, data; result: its res
  uring,   // completion of io_uring; number: the opcode, args: fd, bytes, offset, user_data; result: its res
};
constexpr int kCallKinds = 5;

constexpr int kFirstRestart = 512;   // ERESTARTSYS and kin: the kernel makes the call again, programs never see them
constexpr int64_t kUnfinished = -1;  // as a duration: it had not returned when the capture or its thread ended

struct Call {
  CallKind kind = CallKind::call;
  uint64_t sequence = 0;    // order of start within the log, from 1; no two are the same
  int64_t start_ns = 0;     // wall clock
  int64_t duration_ns = 0;  // kUnfinished
  int32_t process = 0;      // numbers as the capturing side sees them
  int32_t thread = 0;
  int32_t number = 0;
  // Registers. A call that takes a vector of buffers (readv, sendmsg, ...) has the bytes asked for in args[5], which it
  // does not use otherwise; for p*v2 the flags are there and the bytes asked for are in args[4] (always 0 on x86_64).
  std::array<uint64_t, 6> args{};
  int64_t result = 0;  // -errno when it failed

  bool finished() const { return duration_ns != kUnfinished; }
  int64_t end_ns() const {  // unsigned inside: a log from elsewhere may hold any numbers, and these must not overflow
    uint64_t took = finished() ? static_cast<uint64_t>(duration_ns) : 0;
    return static_cast<int64_t>(static_cast<uint64_t>(start_ns) + took);
  }
  bool failed() const { return finished() && result < 0 && result >= -4095; }
  int errno_value() const { return failed() ? static_cast<int>(-result) : 0; }
  bool operator==(const Call&) const = default;
};

// What a descriptor is for the file system: decides which of the paper's four times a call belongs to.
enum class FdClass : uint8_t {
  other,
  storage,    // a file or folder in which a server keeps the file system's data
  to_client,  // a server's socket whose other end is a client
  to_server,  // a socket whose other end is a server (a client's, or a server's own to another server)
  fuse,       // /dev/fuse
};
constexpr int kFdClasses = 5;
const char* name_of(FdClass fd_class);  // other, storage, to-client, to-server, fuse

enum class FdKind : uint8_t { file, folder, socket, pipe, device, anonymous, path };
constexpr int kFdKinds = 7;

// From t_ns on this descriptor is this, until the next record of the same process and descriptor. A failed call on a
// path gets a record with kind `path`, fd -1 and its sequence number, or silent errors would have no name.
struct FdRecord {
  int64_t t_ns = 0;
  int32_t process = 0;
  int32_t fd = -1;
  uint64_t sequence = 0;  // only of kind path: the call that failed
  FdKind kind = FdKind::file;
  FdClass fd_class = FdClass::other;
  uint32_t flags = 0;   // open flags; O_DIRECT tells whether a cache was in the way
  uint64_t device = 0;  // st_dev as the kernel has it (major << 20 | minor); 0: unknown
  uint64_t inode = 0;
  std::string name;  // a path, "pipe:[7]", "anon_inode:[eventpoll]"; of a Unix socket its path; hashed: "~" + 16 digits
  std::string protocol;  // sockets: TCP, UDP, UNIX, ...
  std::string local;     // sockets: "10.0.0.1:49152", "[fe80::1]:24007"
  std::string peer;      // "" when there is none (yet)

  bool operator==(const FdRecord&) const = default;
};

// Continuous monitoring keeps no single calls: one of these per second, class and call.
struct CallSum {
  int64_t second = 0;  // since 1970
  FdClass fd_class = FdClass::other;
  int32_t number = 0;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  std::array<uint32_t, 32>
      histogram{};                 // [i]: durations of 2^i to 2^(i+1) - 1 ns (0 ns in [0]); the last takes the rest
  std::map<int, uint64_t> errors;  // errno -> count

  bool operator==(const CallSum&) const = default;
};

}  // namespace culprit
