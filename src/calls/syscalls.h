// The system calls of x86_64 as a table: names, arguments, and what the tools need to know about each.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "calls/call.h"

namespace culprit {

// How an argument is shown, and what it means.
enum class Arg : uint8_t {
  none,        // no such argument
  number,      // an int, signed: the upper half of the register means nothing
  size,        // unsigned, 64 bits
  hex,         // flags, addresses of other things
  pointer,     // hex; NULL for 0
  fd,          // a descriptor: 7</brick/f>
  dirfd,       // likewise, or AT_FDCWD
  path,        // pointer to a path
  buffer,      // pointer to data or to text that is no path: "..."
  vector,      // pointer to buffers: the bytes asked for are in args[5] (p*v2: args[4])
  open_flags,  // O_RDWR|O_DIRECT
  mode,        // octal
  signal,      // SIGTERM
  offset,      // signed, 64 bits
  hidden,      // the upper half of an offset, always 0 on x86_64: not shown
};

enum class Family : uint8_t { file, descriptor, network, memory, process, signal, time, ipc, other };

// What a call does with data, for the paper's four times.
enum class Transfer : uint8_t { none, read, write, sync };

struct Syscall {
  int number;
  std::string_view name;
  Family family;
  std::array<Arg, 6> args{};
  bool returns_fd = false;
  Transfer transfer = Transfer::none;
};

std::span<const Syscall> syscalls();      // by number, without gaps in the order; numbers may have gaps
const Syscall* find_syscall(int number);  // nullptr: not known
const Syscall* find_syscall(std::string_view name);
std::string syscall_name(int number);   // "pread64"; "syscall_999"
int argument_count(int number);         // 6 for unknown ones
int fd_argument(int number);            // index of the descriptor the call works on; -1
int second_fd_argument(int number);     // of splice, sendfile and kin; -1
int path_argument(int number);          // index of its (first) path; -1
int folder_argument(int number);        // the descriptor that this path is relative to; -1: the working folder
int vector_bytes_argument(int number);  // where the bytes asked for are: 5, 4 or -1
int64_t bytes_asked(const Call& call);  // of a read or write: its count argument or the vector's bytes; -1: unknown
bool never_returns(int number);         // exit, exit_group

std::string errno_name(int errno_value);   // "ENOSPC"; "errno 999"
int errno_number(std::string_view name);   // 0: not known
std::string signal_name(int number);       // "SIGXFSZ"; "SIGRT_3"
int signal_number(std::string_view name);  // 0: not known

// Open flags by name, as strace has them: "O_RDWR|O_CREAT|O_DIRECT". Bits without a name are in hex at the end.
std::string open_flags_text(uint64_t flags);
uint64_t parse_open_flags(std::string_view text);     // names that are not known count as 0
uint64_t parse_message_flags(std::string_view text);  // likewise: "MSG_PEEK|MSG_DONTWAIT"

constexpr uint64_t kNoFcntlCommand = ~uint64_t{0};  // not 0: that is F_DUPFD, which makes a descriptor
uint64_t fcntl_command(std::string_view name);      // "F_SETLKW"; kNoFcntlCommand when it is not known

// What an asynchronous request does, by its opcode: "pwrite" (aio), "writev" (uring); "opcode 99".
std::string request_name(CallKind kind, int opcode);

std::string hex_number(uint64_t value);  // "0x1f"

constexpr int kMostSyscalls = 512;  // numbers from here on are not traced one by one (x32 begins at 2^30)

}  // namespace culprit
