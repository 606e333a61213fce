#include "load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "load/load_data.h"

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class LoadTest : public testing::Test {
 protected:
  LoadTest() {
    char name[] = "/tmp/culprit-load-XXXXXX";
    folder_ = ::mkdtemp(name) ? name : "";
    file_ = folder_ + "/file";
  }
  ~LoadTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Status run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--file", file_});
    lines_.clear();
    ASSIGN_OR_RETURN(LoadOptions options, parse_load_options(arguments));
    return run_load(options, stop_, lines_);
  }
  std::string content() const {
    auto text = read_file(file_);
    return text ? *text : text.error().message();
  }

  std::string folder_, file_;
  std::atomic<bool> stop_ = false;
  std::vector<LoadLine> lines_;
};

// The records from `first` on, one after the other, cut off at `size`.
std::string records(uint64_t seed, int64_t record, uint64_t first, size_t size) {
  LoadData data(seed, record);
  std::string out;
  while (out.size() < size) {
    data.stamp(first++);
    out.append(data.data(), std::min(static_cast<size_t>(record), size - out.size()));
  }
  return out;
}

TEST_F(LoadTest, WritesWhatTheSeedSays) {
  ASSERT_TRUE(run({"--phases", "write", "--bytes", "100000", "--record", "8KiB", "--seed", "5"}));
  EXPECT_TRUE(content() == records(5, 8192, 0, 100'000));
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].phase, "write");
  EXPECT_EQ(lines_[0].bytes, 100'000);
}

TEST_F(LoadTest, PhasesInTheirOrder) {
  ASSERT_TRUE(
      run({"--phases", "write,fsync,rewrite,drop,read,reread,rewrite", "--bytes", "64KiB", "--record", "16KiB"}));
  ASSERT_EQ(lines_.size(), 5U) << "only phases that move data";
  const std::string_view names[] = {"write", "rewrite", "read", "reread", "rewrite"};
  for (size_t i = 0; i < lines_.size(); ++i) {
    EXPECT_EQ(lines_[i].phase, names[i]);
    EXPECT_EQ(lines_[i].bytes, 65536);
    EXPECT_GT(lines_[i].ns, 0);
  }
  EXPECT_TRUE(content() == records(1, 16384, 8, 65536)) << "the third writing, made of records 8 to 11";
}

TEST_F(LoadTest, StartsOverAtTheFileSizeWithoutTruncating) {
  ASSERT_TRUE(run({"--phases", "write", "--bytes", "40KiB", "--file-size", "32KiB", "--record", "16KiB"}));
  std::string expected = records(1, 16384, 0, 32768);
  expected.replace(0, 8192, records(1, 16384, 2, 8192));
  EXPECT_TRUE(content() == expected);
}

TEST_F(LoadTest, ReadsAShortFileAgainAndAgain) {
  ASSERT_TRUE(run({"--phases", "write", "--bytes", "10000", "--record", "4KiB"}));
  ASSERT_TRUE(run({"--phases", "read", "--bytes", "35000", "--record", "4KiB"}));
  EXPECT_EQ(lines_.at(0).bytes, 35000);
  ASSERT_TRUE(run({"--phases", "rewrite", "--bytes", "35000", "--record", "4KiB"}));
  EXPECT_EQ(lines_.at(0).bytes, 35000);
  EXPECT_EQ(content().size(), 10000U) << "a rewrite does not extend";
}

// Whether a pass was cold is the page cache's secret; that all bytes come, and that what was written stays, is not.
TEST_F(LoadTest, ColdReadsGoOverAndOverAndLoseNothing) {
  ASSERT_TRUE(run({"--phases", "write,read,rewrite,reread", "--bytes", "35000", "--file-size", "10000", "--record",
                   "4KiB", "--cold"}));
  ASSERT_EQ(lines_.size(), 4U);
  for (const LoadLine& line : lines_) EXPECT_EQ(line.bytes, 35000) << line.phase;
  EXPECT_EQ(content().size(), 10000U);
}

TEST_F(LoadTest, WriteTruncatesWhatWasThere) {
  ASSERT_TRUE(run({"--phases", "write", "--bytes", "64KiB"}));
  ASSERT_TRUE(run({"--phases", "write", "--bytes", "4KiB"}));
  EXPECT_EQ(content().size(), 4096U);
}

TEST_F(LoadTest, ByTimeStaysWithinTheFileSize) {
  ASSERT_TRUE(run({"--phases", "write,fsync,rewrite,read", "--seconds", "100ms", "--file-size", "64KiB", "--record",
                   "4KiB", "--rate", "50MB"}));
  ASSERT_EQ(lines_.size(), 3U);
  EXPECT_EQ(content().size(), static_cast<size_t>(std::min<int64_t>(lines_[0].bytes, 65536)));
}

TEST_F(LoadTest, DirectOrASentenceWhy) {
  Status status = run({"--phases", "write,rewrite,read", "--bytes", "64KiB", "--record", "16KiB", "--direct"});
  if (!status && status.error().errno_value == EINVAL) {
    EXPECT_THAT(status.error().hint, HasSubstr("--direct"));
    GTEST_SKIP() << "no direct I/O below /tmp";
  }
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_TRUE(content() == records(1, 16384, 4, 65536));
}

TEST_F(LoadTest, NothingToReadIsOneSentence) {
  for (std::string_view phase : {"read", "reread", "rewrite"}) {
    Status missing = run({"--phases", std::string(phase), "--bytes", "1MB"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message(), cat("phase ", phase, ": there is no file ", file_));
  }
  ASSERT_TRUE(write_file_atomically(file_, ""));
  Status empty = run({"--phases", "read", "--seconds", "10"});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message(), cat("phase read: there is nothing in ", file_, " to read"));
  EXPECT_EQ(empty.error().kind, ErrorKind::input);
}

TEST_F(LoadTest, OnlyPlainFilesAreTouched) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  for (std::string_view phase : {"write", "read", "drop"}) {
    Status status = run({"--phases", std::string(phase), "--bytes", "4KiB"});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("not a plain file"));
  }
}

// The limit makes a short write first and then an error, as a disk that gets full does.
TEST_F(LoadTest, AnErrorNamesPhaseAndOffset) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 10'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = run({"--phases", "fsync,write", "--bytes", "64KiB", "--record", "4KiB"});
  Status second = run({"--phases", "write", "--bytes", "64KiB", "--record", "4KiB"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("phase fsync: there is no file"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().errno_value, EFBIG);
  EXPECT_THAT(second.error().message(), HasSubstr(cat("phase write: cannot write ", file_, " at byte 10000: ")));
  ASSERT_EQ(lines_.size(), 1U) << "what was done before the error";
  EXPECT_EQ(lines_[0].bytes, 8192);
}

TEST_F(LoadTest, AFolderThatIsMissing) {
  file_ = folder_ + "/none/file";
  Status status = run({"--phases", "write", "--bytes", "4KiB"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().errno_value, ENOENT);
  EXPECT_THAT(status.error().message(), HasSubstr(cat("phase write: cannot open ", file_)));
}

TEST_F(LoadTest, StoppedBeforeItBeginsDoesNothing) {
  stop_ = true;
  ASSERT_TRUE(run({"--phases", "write", "--seconds", "60", "--file-size", "1GB"}));
  EXPECT_TRUE(lines_.empty());
  EXPECT_FALSE(path_exists(file_));
}

class LoadCommand : public LoadTest {
 protected:
  LoadCommand() : out_(open_temp()), err_(open_temp()) {}

  int command(const std::vector<std::string>& words) { return run_load_command(words, out_.get(), err_.get()); }
  static std::string said(const Fd& fd) {
    std::string text(4096, '\0');
    ssize_t n = ::pread(fd.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return text;
  }

  Fd out_, err_;

 private:
  Fd open_temp() const {
    std::string name = folder_ + "/XXXXXX";
    return Fd(::mkstemp(name.data()));
  }
};

TEST_F(LoadCommand, PrintsALinePerPhase) {
  EXPECT_EQ(command({"--file", file_, "--phases", "write,read", "--bytes", "4KiB"}), 0);
  EXPECT_THAT(said(out_), MatchesRegex("phase write bytes 4096 seconds [0-9]+[.][0-9][0-9][0-9]\n"
                                       "phase read bytes 4096 seconds [0-9]+[.][0-9][0-9][0-9]\n"));
  EXPECT_EQ(said(err_), "");
}

TEST_F(LoadCommand, ExitCodes) {
  EXPECT_EQ(command({"--help"}), 0);
  EXPECT_EQ(said(out_), load_help());
  EXPECT_EQ(command({"--phases", "read"}), 2);
  EXPECT_EQ(command({"--file", file_, "--phases", "read", "--bytes", "1"}), 1);
  EXPECT_THAT(said(err_), HasSubstr(cat("culprit-node: phase read: there is no file ", file_, "\nhint: ")));
}

TEST_F(LoadCommand, SigtermEndsItWellWithTheLinesSoFar) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    ::_exit(command({"--file", file_, "--phases", "write,read", "--seconds", "60", "--file-size", "1MB", "--record",
                     "4KiB", "--rate", "4KiB"}));
  for (int i = 0; i < 10'000 && (!path_exists(file_) || std::filesystem::file_size(file_) == 0); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child, SIGTERM);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(said(out_), MatchesRegex("phase write bytes [0-9]+ seconds [0-9.]+\n"));
}

}  // namespace
}  // namespace culprit
