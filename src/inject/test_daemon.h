// For tests: a process of ours with a name that nobody else has, in a folder of its own, as a file system's daemon.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "inject/service.h"

namespace culprit {

// A folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/culprit-inject-XXXXXX";
    path_ = ::mkdtemp(name) ? name : "";
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
  }

 private:
  std::string path_;
};

class TestDaemon {
 public:
  TestDaemon() : name_(cat("cul", ::getpid() % 1'000'000, "d")) {
    std::filesystem::copy_file("/bin/sleep", folder_.path() + "/" + name_);
    part.id = "t1";
    part.node = "s1";
    part.daemons = {name_};
    part.lease_ns = part.duration_ns = 10 * kNsPerSecond;
  }
  ~TestDaemon() {
    std::vector<RunningDaemon> left = running();
    for (const RunningDaemon& daemon : left) ::kill(daemon.id.pid, SIGKILL);
    for (const RunningDaemon& daemon : left) wait_gone(daemon.id, 5 * kNsPerSecond);  // the next test has the same name
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  // A child of ours, or (the daemon that a restart made) of process 1.
  void start(const std::string& seconds = "1000") {
    std::string exe = folder_.path() + "/" + name_;
    pid_t pid = ::fork();
    if (pid == 0) {
      char* argv[] = {const_cast<char*>(exe.c_str()), const_cast<char*>(seconds.c_str()), nullptr};
      char first[] = "COLOUR=dark blue", second[] = "EMPTY=", third[] = "LINE=a\nb";
      char* environment[] = {first, second, third, nullptr};
      if (::chdir(folder_.path().c_str()) == 0) ::execve(exe.c_str(), argv, environment);
      ::_exit(127);
    }
    for (int tries = 0; tries < 2000; ++tries) {  // until it has its own name
      for (const RunningDaemon& daemon : running())
        if (daemon.id.pid == pid && daemon.argv.size() == 2) return;
      ::usleep(1000);
    }
    ADD_FAILURE() << "the test's daemon did not start";
  }
  std::vector<RunningDaemon> running() const { return find_daemons("/proc", {name_}); }
  const std::string& folder() const { return folder_.path(); }
  const std::string& name() const { return name_; }

  FaultPart part;

 private:
  TestFolder folder_;
  std::string name_;
};

}  // namespace culprit
