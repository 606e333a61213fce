// A test program that tells, in a file, what a tracer must have seen of it. Each line is one event of one thread:
//
//   CALL THREAD NAME COUNT ARG... = RESULT [asked=N] [slow=NS] [path=P] [target=T] [ring_target=T]
//                               RESULT is -errno when it failed, ? when it never returned
//   SIGNAL THREAD NAME [code=C sender=S]   a handler ran, or it was deadly
//   IGNORED THREAD NAME         sent and ignored: only a tracer by ptrace is told of it
//   EXIT PROCESS STATUS         the end of a process, as wait(2) has it
//   COUNT THREAD NAME N         as many calls of that name, no more
//   AIO THREAD OPCODE FD BYTES OFFSET DATA = RESULT
//   URING THREAD OPCODE FD BYTES DATA = RESULT   BYTES is -1 when it moves none
//   UNSEEN N                    completions that no call told of
//
// Numbers have a fixed width, because the file is written by a traced call whose result must not differ between runs.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace trace {

// Without libc in between: no errno, no cancellation, and exactly the registers that were given.
inline long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

template <class T>
long reg(T value) {
  if constexpr (std::is_null_pointer_v<T>)
    return 0;
  else if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<long>(value);
  else
    return static_cast<long>(value);
}

// The program cannot do what it is for; its exit code tells the test.
[[noreturn]] inline void die(const char* what) {
  raw(SYS_write, 2, reg(what), reg(strlen(what)));
  raw(SYS_write, 2, reg("\n"), 1);
  for (;;) raw(SYS_exit_group, 99);
}

struct Paper {
  std::atomic<size_t> used;
  char text[1 << 20];
};
inline Paper* paper = nullptr;  // shared with children, so that one file has everything
inline const char* file_name = nullptr;

// What else is known of the next call; of this thread only.
struct Extra {
  long asked = -1;
  long slow_ns = 0;
  const char* path = nullptr;
  const char* target = nullptr;
  const char* ring_target = nullptr;  // what io_uring made of the descriptor, which ptrace cannot see
};
inline thread_local Extra next;

inline void asks(long bytes) {
  next.asked = bytes;
}
inline void fails_on(const char* path) {
  next.path = path;
}
inline void on(const char* target) {
  next.target = target;
}
inline void on_by_ring(const char* target) {
  next.ring_target = target;
}
inline void takes(long ns) {
  next.slow_ns = ns;
}

class Line {
 public:
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text_ + used_, sizeof text_ - used_, format, list);
    va_end(list);
    if (length < 0 || used_ + static_cast<size_t>(length) >= sizeof text_) die("a line is too long");
    used_ += static_cast<size_t>(length);
  }
  void end() {
    add("\n");
    size_t at = paper->used.fetch_add(used_);
    if (at + used_ > sizeof paper->text) die("there is no paper left");
    memcpy(paper->text + at, text_, used_);
  }

 private:
  char text_[2048];
  size_t used_ = 0;
};

inline void add_call(Line& line, long thread, const char* name, const long* args, size_t count) {
  line.add("CALL %10ld %s %zu", thread, name, count);
  for (size_t i = 0; i < count; ++i) line.add(" %016lx", static_cast<unsigned long>(args[i]));
}

inline void add_extra(Line& line) {
  if (next.asked >= 0) line.add(" asked=%ld", next.asked);
  if (next.slow_ns > 0) line.add(" slow=%ld", next.slow_ns);
  if (next.path) line.add(" path=%s", next.path);
  if (next.target) line.add(" target=%s", next.target);
  if (next.ring_target) line.add(" ring_target=%s", next.ring_target);
  next = {};
}

inline void note_call(long thread, const char* name, const long* args, size_t count, long result) {
  Line line;
  add_call(line, thread, name, args, count);
  line.add(" = %20ld", result);
  add_extra(line);
  line.end();
}

// A call that never returned.
inline void note_open(long thread, const char* name, const long* args, size_t count) {
  Line line;
  add_call(line, thread, name, args, count);
  line.add(" = ?");
  add_extra(line);
  line.end();
}

inline void note_signal(long thread, const char* name) {
  Line line;
  line.add("SIGNAL %10ld %s", thread, name);
  line.end();
}
inline void note_signal(long thread, const char* name, int code, long sender) {
  Line line;
  line.add("SIGNAL %10ld %s code=%d sender=%ld", thread, name, code, sender);
  line.end();
}

inline void note_ignored(long thread, const char* name) {
  Line line;
  line.add("IGNORED %10ld %s", thread, name);
  line.end();
}

inline void note_exit(long process, int status) {
  Line line;
  line.add("EXIT %10ld %6d", process, status);
  line.end();
}

inline void note_count(long thread, const char* name, long count) {
  Line line;
  line.add("COUNT %10ld %s %6ld", thread, name, count);
  line.end();
}

inline long thread_id() {
  return raw(SYS_gettid);
}
inline bool makes_a_child(long number) {
  return number == SYS_fork || number == SYS_clone;
}

template <class... Args>
long call(const char* name, long number, Args... args) {
  static_assert(sizeof...(args) <= 6);
  const long values[] = {reg(args)..., 0};  // the 0: an array cannot be empty
  long result = raw(number, reg(args)...);
  if (result == 0 && makes_a_child(number)) return 0;  // only the parent's return is a call's end
  note_call(thread_id(), name, values, sizeof...(args), result);
  return result;
}

template <class... Args>
[[noreturn]] void last_call(const char* name, long number, Args... args) {
  const long values[] = {reg(args)..., 0};
  note_open(thread_id(), name, values, sizeof...(args));
  for (;;) raw(number, reg(args)...);
}

// CALL(pread64, fd, buffer, 10, 0) makes the call, tells of it and has its result.
#define CALL(name, ...) trace::call(#name, SYS_##name __VA_OPT__(, ) __VA_ARGS__)
#define LAST_CALL(name, ...) trace::last_call(#name, SYS_##name __VA_OPT__(, ) __VA_ARGS__)

inline void begin(int argc, char** argv) {
  if (argc < 2) die("usage: PROGRAM FILE");
  file_name = argv[1];
  long memory = raw(SYS_mmap, 0, sizeof(Paper), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) die("there is no memory");
  paper = reinterpret_cast<Paper*>(memory);
}

// Appended, because a program that has been replaced by exec has already told its part.
inline void tell() {
  long fd = raw(SYS_openat, AT_FDCWD, reg(file_name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  size_t used = paper->used.exchange(0);
  if (fd < 0 || raw(SYS_write, fd, reg(paper->text), reg(used)) != reg(used)) die("the file cannot be written");
  raw(SYS_close, fd);
}

// The end of main: `return finish(CODE);`
inline int finish(int code = 0) {
  note_exit(raw(SYS_getpid), code << 8);
  tell();
  return code;
}

}  // namespace trace
