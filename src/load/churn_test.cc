#include "load/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace culprit {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

class ChurnTest : public testing::Test {
 protected:
  ChurnTest() {
    char name[] = "/tmp/culprit-churn-XXXXXX";
    folder_ = ::mkdtemp(name) ? name : "";
    options_.folder = folder_ + "/small";
    std::filesystem::create_directories(options_.folder);
    options_.steps = 5;
    options_.keep = 2;
    options_.record = 4096;
    options_.pause_ns = 0;
  }
  ~ChurnTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  ChurnReport run() {
    ChurnListener listener;
    listener.first = [this](std::string_view line) { lines_.emplace_back(line); };
    return run_churn(options_, stop_, listener);
  }
  size_t files() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(options_.folder)) ++count;
    return count;
  }

  std::string folder_;
  ChurnOptions options_;
  std::atomic<bool> stop_ = false;
  std::vector<std::string> lines_;
};

TEST_F(ChurnTest, FilesComeAndGo) {
  const ChurnReport report = run();
  EXPECT_EQ(report.steps, 5);
  EXPECT_THAT(report.complaints, IsEmpty());
  EXPECT_EQ(files(), 2u);
}

TEST_F(ChurnTest, ALargeFileIsWrittenOver) {
  const std::string large = folder_ + "/large";
  std::ofstream(large) << std::string(64 << 10, 'x');
  options_.files = {large};
  EXPECT_THAT(run().complaints, IsEmpty());
  EXPECT_EQ(std::filesystem::file_size(large), 64u << 10);
  std::ifstream in(large);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(text, std::string(64 << 10, 'x'));
}

TEST_F(ChurnTest, ErrorsAreCountedToldOnceAndDoNotEndIt) {
  options_.folder = folder_ + "/missing";
  options_.files = {folder_ + "/nothing"};
  const ChurnReport report = run();
  EXPECT_EQ(report.steps, 5);
  EXPECT_EQ(report.complaints.at("create: No such file or directory"), 5);
  EXPECT_EQ(report.complaints.at("open: No such file or directory"), 5);
  EXPECT_THAT(lines_, AllOf(SizeIs(2), Each(HasSubstr("No such file or directory"))));
  EXPECT_THAT(format_churn(report), HasSubstr("create: No such file or directory 5 times"));
}

// The first complaint comes at the end of the first step, when file 0 has just been written and read back; from then on
// it holds zeros, as on a server that confirmed what it did not keep.
TEST_F(ChurnTest, DataThatWereLostAreFound) {
  options_.files = {folder_ + "/nothing"};
  ChurnListener listener;
  listener.first = [&](std::string_view line) {
    if (line.find("/nothing") == std::string_view::npos) return;
    std::fstream(options_.folder + "/0", std::ios::in | std::ios::out) << std::string(4096, '\0');
  };
  const ChurnReport report = run_churn(options_, stop_, listener);
  EXPECT_EQ(report.complaints.at("read: not what was written"), 1);
  EXPECT_EQ(report.complaints.size(), 2u);
}

TEST_F(ChurnTest, AStallIsToldOf) {
  options_.stall_ns = -1;  // every call is too slow
  EXPECT_THAT(run().complaints, testing::Contains(Key(HasSubstr("it took longer than"))));
}

TEST_F(ChurnTest, ItStopsWhenAsked) {
  stop_ = true;
  EXPECT_EQ(run().steps, 0);
}

TEST(ChurnOptions, WhatIsWrongIsOneSentence) {
  auto error = [](std::vector<std::string> words) {
    auto options = parse_churn_options(words);
    return options ? "" : options.error().what;
  };
  EXPECT_THAT(error({}), HasSubstr("no folder"));
  EXPECT_THAT(error({"--folder", "/a"}), HasSubstr("how long"));
  EXPECT_THAT(error({"--folder", "/a", "--seconds", "5", "--steps", "4"}), HasSubstr("said twice"));
  EXPECT_THAT(error({"--folder", "/a", "--seconds", "5", "--direct", "--record", "1000"}), HasSubstr("direct I/O"));
  EXPECT_THAT(error({"--foldr", "/a"}), HasSubstr("unknown option"));
  EXPECT_THAT(error({"--folder", "/a", "--record", "1TB"}), HasSubstr("record"));
  EXPECT_THAT(error({"--folder", "/a", "--keep", "-1"}), HasSubstr("not a number"));
  EXPECT_THAT(error({"--folder"}), HasSubstr("needs a value"));
  EXPECT_EQ(error({"--folder=/a", "--file=/b", "--file", "/c", "--seconds=10", "--direct"}), "");
}

}  // namespace
}  // namespace culprit
