// The program is looked up before the fork: a wrong name is then an error at once, and execve is the first call seen.
#include "capture/ptrace/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "capture/ptrace/inherited.h"
#include "capture/ptrace/seccomp_filter.h"

namespace culprit {

namespace {

bool can_run(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (can_run(name)) return name;
    int error = ::access(name.c_str(), X_OK) == 0 ? EACCES : errno;  // a folder can be entered, not run
    return system_error(cat("cannot run ", printable(name, 200)), error);
  }
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    std::string candidate = folder.empty() ? name : cat(folder, "/", name);
    if (!name.empty() && can_run(candidate)) return candidate;
  }
  return system_error(cat("cannot run ", printable(name, 200)), ENOENT, "is it installed, and in PATH?");
}

// Both ends close on exec and lie above the standard streams, whatever those were when we were started.
Status make_pipe(Fd& reading, Fd& writing) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  reading.reset(ends[0]);
  writing.reset(ends[1]);
  for (Fd* fd : {&reading, &writing}) {
    if (fd->get() > 2) continue;
    Fd moved(::fcntl(fd->get(), F_DUPFD_CLOEXEC, 3));
    if (!moved.valid()) return system_error("cannot duplicate a descriptor", errno);
    *fd = std::move(moved);
  }
  return Ok{};
}

// In the child: only calls that are safe between fork and exec.
[[noreturn]] void become(const char* path, char* const* argv, const std::vector<sock_filter>& filter, int go,
                         int report) {
  char byte = 0;
  ssize_t n = 0;
  while ((n = ::read(go, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (n != 1) ::_exit(127);  // the tracer is gone
  give_back_inherited();
  int error = filter.empty() ? 0 : install_filter(filter);
  if (error == 0) {
    ::execv(path, argv);
    error = errno;
  }
  while (::write(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::_exit(127);
}

}  // namespace

Result<WaitingCommand> prepare_command(const std::vector<std::string>& argv, std::vector<sock_filter> filter) {
  if (argv.empty()) return usage_error("no command to run");
  ASSIGN_OR_RETURN(std::string path, find_program(argv.front()));
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  WaitingCommand command;
  Fd go;
  Fd report;
  RETURN_IF_ERROR(make_pipe(go, command.go));
  RETURN_IF_ERROR(make_pipe(command.report, report));
  command.pid = ::fork();
  if (command.pid < 0) return system_error(cat("cannot start ", path), errno);
  if (command.pid == 0) {
    command.go.reset();  // or it would wait for itself when we are gone
    become(path.c_str(), words.data(), filter, go.get(), report.get());
  }
  return command;
}

void let_go(WaitingCommand& command) {
  char byte = 1;
  while (::write(command.go.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  command.go.reset();
}

int exec_error(const WaitingCommand& command) {
  int error = 0;
  ssize_t n = 0;
  while ((n = ::read(command.report.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace culprit
