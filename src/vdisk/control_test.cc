#include "vdisk/control.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/units.h"

namespace culprit {
namespace {

TEST(DiskControl, ReadsWhatTheFormatSays) {
  EXPECT_EQ(parse_disk_command("list")->verb, DiskVerb::list);
  EXPECT_EQ(parse_disk_command("quit")->verb, DiskVerb::quit);
  auto add = parse_disk_command("add lab-s1 1000001 barracuda7200");
  EXPECT_FALSE(add);  // under 1 MiB
  add = parse_disk_command("add lab-s1 100000001 rate=15MB,seek=4ms");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->disk, "lab-s1");
  EXPECT_EQ(add->size % 4096, 0);
  EXPECT_GE(add->size, 100'000'001);
  EXPECT_EQ(add->model->seek_ns, 4 * kNsPerMs);
  EXPECT_FALSE(parse_disk_command("add s1 512MB")->model);
  EXPECT_EQ(parse_disk_command("model s1 ssd")->model->rate, 60'000'000);
  EXPECT_EQ(parse_disk_command("  status\ts1 ")->disk, "s1");
}

TEST(DiskControl, ReadsEffects) {
  auto hidden = parse_disk_command("hidden s1 for=10s share=0.5");
  ASSERT_TRUE(hidden);
  EXPECT_EQ(hidden->effect, Effect::hidden);
  EXPECT_EQ(hidden->hidden.share, 0.5);
  EXPECT_EQ(hidden->hidden.bytes, 1'000'000);
  EXPECT_EQ(hidden->for_ns, 10 * kNsPerSecond);
  EXPECT_EQ(parse_disk_command("hidden s1 share=0.1 size=64KiB for=1m")->hidden.bytes, 65536);
  EXPECT_EQ(parse_disk_command("slow s1 factor=2.5 for=500ms")->factor, 2.5);
  auto flaky = parse_disk_command("flaky s1 probability=0.01 seed=18446744073709551615 for=1h");
  ASSERT_TRUE(flaky);
  EXPECT_EQ(flaky->seed, UINT64_MAX);
  EXPECT_EQ(flaky->for_ns, kMaxEffectNs);
  EXPECT_EQ(parse_disk_command("fail s1 for=3s")->effect, Effect::fail);
  EXPECT_EQ(parse_disk_command("hang s1 for=3s")->effect, Effect::hang);
  EXPECT_FALSE(parse_disk_command("heal s1")->effect);
  EXPECT_EQ(parse_disk_command("heal s1 hang")->effect, Effect::hang);
}

TEST(DiskControl, RefusesTheRestWithAReason) {
  for (const char* line : {"",
                           "   ",
                           "lisst",
                           "list s1",
                           "add",
                           "add s1",
                           "add s1 0",
                           "add s1 -1",
                           "add s1 99999999999GB",
                           "add ../s1 1GB",
                           "add .s1 1GB",
                           "add s/1 1GB",
                           "add s1 1GB none none",
                           "model s1",
                           "model s1 rate=15MB seek=4ms",
                           "status",
                           "status s1 s2",
                           "hang s1",
                           "hang s1 for=",
                           "hang s1 for=0s",
                           "hang s1 for=-1s",
                           "hang s1 for=61m",
                           "hang s1 for=1s for=2s",
                           "hang s1 for=1s share=0.5",
                           "hang s1 1s",
                           "slow s1 for=1s",
                           "slow s1 factor=0.5 for=1s",
                           "slow s1 factor=nan for=1s",
                           "slow s1 factor=1e9 for=1s",
                           "hidden s1 share=0 for=1s",
                           "hidden s1 share=1 for=1s",
                           "hidden s1 share=0.5 size=0 for=1s",
                           "hidden s1 share=0.5 size=1GB for=1s",
                           "flaky s1 probability=1.1 for=1s",
                           "flaky s1 probability=0.5 seed=-1 for=1s",
                           "heal s1 all",
                           "heal s1 hang slow",
                           "quit now",
                           "=",
                           "hang = for=1s"}) {
    auto command = parse_disk_command(line);
    ASSERT_FALSE(command) << line;
    EXPECT_FALSE(command.error().what.empty()) << line;
    EXPECT_FALSE(command.error().hint.empty()) << line;
  }
}

TEST(DiskControl, SurvivesAnyBytes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_FALSE(parse_disk_command(all));
  EXPECT_FALSE(parse_disk_command("add " + all + " 1GB"));
  EXPECT_FALSE(parse_disk_command(std::string("list\0", 5)));
  EXPECT_FALSE(parse_disk_command("list " + std::string(kMaxControlLine, 'x')));
  EXPECT_FALSE(parse_disk_command("add " + std::string(65, 'x') + " 1GB"));
}

TEST(DiskControl, AnErrorIsOneLineAndComesBack) {
  std::string line = format_disk_error(input_error("no disk\nhere", "list shows them"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  Error back = parse_disk_error(line);
  EXPECT_EQ(back.what, "no disk\\x0ahere");
  EXPECT_EQ(back.hint, "list shows them");
  EXPECT_EQ(parse_disk_error("error plain").what, "plain");
}

}  // namespace
}  // namespace culprit
