// A full disk, for real: a child makes a small tmpfs in a mount namespace of its own and records until it is full.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "store/run_test_util.h"

namespace culprit {
namespace {

enum Outcome { kGood = 0, kNoNamespace = 77, kNeverFull = 1, kWrongError, kNotClosed, kNotReadable, kLost, kNoEvent };

bool put(const char* path, const std::string& text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  return written;
}

// Root in a user namespace of one user: without the map no file could be created.
bool become_namespace_root() {
  std::string uid = std::to_string(::geteuid());
  std::string gid = std::to_string(::getegid());
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
         put("/proc/self/uid_map", "0 " + uid + " 1") && put("/proc/self/gid_map", "0 " + gid + " 1");
}

bool mount_small_disk(const std::string& path) {
  if (::unshare(CLONE_NEWNS) != 0 && !become_namespace_root()) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=12m") == 0;
}

// Something else may eat the last bytes too: then even the journal cannot grow.
void fill_up(const std::string& path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string block(4096, 'x');
  while (::write(fd, block.data(), block.size()) > 0) {
  }
  ::close(fd);
}

Outcome record_until_full(const std::string& disk, bool with_filler) {
  if (!mount_small_disk(disk)) return kNoNamespace;
  auto writer = RunWriter::create(disk + "/a", test_manifest(1));
  if (!writer) return kNotClosed;
  Status status = Ok{};
  int64_t committed = 0;
  for (int64_t tick = 0; tick < 100'000 && status; ++tick) {
    if (with_filler && tick == 2000) fill_up(disk + "/filler");
    status = writer->add(0, test_sample(tick, 20));
    if (status) status = writer->commit();
    if (status) committed = tick + 1;
  }
  if (status) return kNeverFull;
  if (status.error().errno_value != ENOSPC || writer->commit().ok()) return kWrongError;
  writer->manifest().stopped = "disk full";
  if (!writer->add_event({kTestStart, "", "note", "disk full"})) return kWrongError;
  auto closed = writer->close();
  if (!closed) return kNotClosed;
  auto reader = RunReader::open(disk + "/a");
  if (!reader || reader->partial() || reader->manifest().stopped != "disk full") return kNotReadable;
  if (static_cast<int64_t>(reader->samples().size()) < committed) return kLost;
  if (count_rows(*reader, source_tcp) != 20 * static_cast<int64_t>(reader->samples().size())) return kLost;
  auto events = reader->events();
  return events && events->size() == 1 ? kGood : kNoEvent;
}

class FullDisk : public testing::TestWithParam<bool> {};

TEST_P(FullDisk, StopsWithENOSPCAndCloses) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("disk"));
  pid_t child = ::fork();
  if (child == 0) ::_exit(record_until_full(folder.file("disk"), GetParam()));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "needs root or user namespaces to mount a small disk";
  EXPECT_EQ(WEXITSTATUS(status), kGood);
}

INSTANTIATE_TEST_SUITE_P(Run, FullDisk, testing::Bool());

}  // namespace
}  // namespace culprit
