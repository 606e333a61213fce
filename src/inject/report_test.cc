#include "inject/report.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

using Kind = GuardReport::Kind;

GuardReport through(const GuardReport& report) {
  std::string line = format_report(report);
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  auto back = parse_report(line);
  EXPECT_TRUE(back) << line;
  return back.value_or(GuardReport{});
}

TEST(GuardReport, EveryKindComesBack) {
  EXPECT_EQ(through({.kind = Kind::note, .text = "an orphan: 100 %"}).text, "an orphan: 100 %");
  EXPECT_EQ(through({.kind = Kind::prepared}).kind, Kind::prepared);
  EXPECT_EQ(through({.kind = Kind::active, .t_ns = 17}).t_ns, 17);
  EXPECT_EQ(through({.kind = Kind::faded, .t_ns = 18}).t_ns, 18);
  GuardReport failed = through({.kind = Kind::failed, .error = unsupported_error("no nft", "install nftables")});
  EXPECT_EQ(failed.error.kind, ErrorKind::unsupported);
  EXPECT_EQ(failed.error.what, "no nft");
  EXPECT_EQ(failed.error.hint, "install nftables");
  GuardReport clean = through({.kind = Kind::removed, .t_ns = 3, .clean = true, .text = "time over"});
  EXPECT_TRUE(clean.clean);
  EXPECT_EQ(clean.text, "time over");
  GuardReport unclean =
      through({.kind = Kind::removed, .clean = false, .text = "asked", .error = input_error("stuck")});
  EXPECT_FALSE(unclean.clean);
  EXPECT_EQ(unclean.error.what, "stuck");
}

TEST(GuardReport, OtherLinesAreNobodys) {
  for (const char* line : {"", "hello", "active", "active x", "removed 5", "removed 5 clean", "removed 5 unclean why",
                           "error input", "note", "note %4"}) {
    EXPECT_FALSE(parse_report(line)) << line;
  }
}

TEST(JournalReport, ComesBack) {
  JournalReport report{"ab", "hang", "s1", "target", "orphaned", "in force, no guard", 42};
  std::string line = format_journal_report(report);
  auto back = parse_journal_report(line.substr(0, line.size() - 1));
  ASSERT_TRUE(back);
  EXPECT_EQ(format_journal_report(*back), line);
  EXPECT_EQ(back->written_ns, 42);
  EXPECT_FALSE(parse_journal_report("journal a b c"));
  EXPECT_FALSE(parse_journal_report("done"));
}

}  // namespace
}  // namespace culprit
