#include "inject/part_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"

namespace culprit {
namespace {

FaultPart sample_part() {
  FaultPart part;
  part.id = "3f2a91c0";
  part.fault = "disk_hog";
  part.node = "s1";
  part.address = "10.0.0.1";
  part.role = "target";
  part.seed = UINT64_MAX;
  part.duration_ns = 60'000'000'000;
  part.lease_ns = 10'000'000'000;
  part.params = {{"share", "0.5"}, {"restart", "systemctl restart x; echo 100% \n done"}, {"disk", ""}};
  part.fs = "glusterfs";
  part.disks = {"loop3", "sd b"};
  part.nics = {"eth0"};
  part.daemons = {"glusterfsd"};
  part.peers = {"10.0.0.2", "fd00::1"};
  return part;
}

std::string with_line(std::string_view line) {
  std::string text = format_part(sample_part());
  return text.insert(text.find("end\n"), cat(line, "\n"));
}

TEST(PartText, ComesBackAsItWas) {
  FaultPart part = sample_part();
  auto back = parse_part(format_part(part));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(format_part(*back), format_part(part));
  EXPECT_EQ(back->params, part.params);
  EXPECT_EQ(back->seed, part.seed);
  EXPECT_EQ(back->disks, part.disks);
}

TEST(PartText, WordsSurviveWhateverTheyHold) {
  for (const std::string& word :
       {std::string(), std::string("%"), std::string("a b\n\t%41"), std::string("\0\x7f\xff", 3)}) {
    std::string escaped = escape_word(word);
    EXPECT_EQ(escaped.find_first_of(" \n\t"), std::string::npos);
    EXPECT_FALSE(escaped.empty());
    EXPECT_EQ(unescape_word(escaped).value(), word);
  }
  for (const char* damaged : {"%4", "%zz", "a%", "%%", "\x01"}) EXPECT_FALSE(unescape_word(damaged)) << damaged;
}

TEST(PartText, UnknownLinesAreSkipped) {
  EXPECT_TRUE(parse_part(with_line("colour blue")));
}

TEST(PartText, DamageIsAnError) {
  for (const char* line :
       {"seed -1", "seed 99999999999999999999", "seed x", "duration_ns 0", "lease_ns -5", "param one", "param a b c",
        "id", "id ../../etc", "node a/b", "fault %2e%2e%2fx", "disk a b", "role -x"}) {
    EXPECT_FALSE(parse_part(with_line(line))) << line;
  }
  std::string text = format_part(sample_part());
  EXPECT_FALSE(parse_part(""));
  EXPECT_FALSE(parse_part("culprit-fault 2\nend\n"));
  EXPECT_FALSE(parse_part(text.substr(0, text.size() - 4))) << "without its end";
  EXPECT_FALSE(parse_part(cat("culprit-fault 1\nid a\n", std::string(kMaxPartBytes, 'x')))) << "too long";
}

TEST(PartText, RandomDamageNeverCrashes) {
  std::mt19937 random(7);
  std::string good = format_part(sample_part());
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (int flips = 0; flips < 5; ++flips) text[random() % text.size()] = static_cast<char>(random());
    refused += parse_part(text) ? 0 : 1;
    static_cast<void>(parse_journal(text).ok());
  }
  EXPECT_GT(refused, 100);
}

TEST(JournalText, LaterNotesWinAndACutLineDoesNotCount) {
  JournalText journal;
  journal.part = sample_part();
  journal.notes = {{"nics", "eth0"}, {"hogs", ""}};
  journal.guard = "12 345";
  journal.netns = 4026531840;
  journal.boot = "0f-1";
  journal.written_ns = 5;
  std::string text = format_journal(journal) + format_notes({{"hogs", "99 100,101 102"}}) + "applied\nnote hogs cut";
  auto back = parse_journal(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->notes.at("hogs"), "99 100,101 102");
  EXPECT_EQ(back->notes.at("nics"), "eth0");
  EXPECT_EQ(back->guard, "12 345");
  EXPECT_EQ(back->netns, journal.netns);
  EXPECT_EQ(back->boot, "0f-1");
  EXPECT_TRUE(back->applied);
  EXPECT_FALSE(parse_journal(format_journal(journal)).value().applied);
}

}  // namespace
}  // namespace culprit
