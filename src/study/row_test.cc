#include "study/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/row_test_rows.h"

namespace culprit {
namespace {

using testing::HasSubstr;

Row full_row() {
  Row row = scored("disk_hog", {accusation("s3", "disk-hog"), accusation("s1", "packet-loss", 62)});
  row.truth.id = "score-ddw-disk_hog-1";
  row.truth.params = {{"bytes", "1MB"}};
  row.truth.iteration = 3;
  row.truth.seed = 18446744073709551615u;
  row.accused[1].end_s = 70.5;
  row.changed = {{"epsilon", 1e-5}, {"k", 4}};
  row.measured = {{"idle_low", 41.2}, {"steal_high", 0.3}};
  score_row(row);
  return row;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Row, OneLineInAFixedOrder) {
  const std::string line = format_row(full_row());
  EXPECT_THAT(line, testing::StartsWith("{\"campaign\":\"monday\",\"id\":\"score-ddw-disk_hog-1\",\"set\":\"score\","));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_THAT(line, HasSubstr("\"itp\":true,\"ifp\":true,\"dtp\":true,\"dfp\":true,\"latency_s\":40.0,"));
  EXPECT_THAT(line, HasSubstr("\"changed\":{\"epsilon\":1e-05,\"k\":4.0}"));
}

TEST(Row, RoundTrip) {
  for (const Row& row : {full_row(), scored("none"), scored("disk_busy")}) {
    const Result<Row> again = parse_row(format_row(row));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(format_row(*again), format_row(row));
    EXPECT_EQ(again->truth.seed, row.truth.seed);
    EXPECT_EQ(again->accused.size(), row.accused.size());
    EXPECT_EQ(again->on_s, row.on_s);
    EXPECT_EQ(method_of(*again), method_of(row));
  }
}

TEST(Row, UnknownMembersAreIgnored) {
  EXPECT_TRUE(parse_row(replaced(format_row(full_row()), "{\"campaign\"", "{\"later\":[1],\"campaign\"")));
}

TEST(Row, EditedScoresAreRefused) {
  const Result<Row> row = parse_row(replaced(format_row(full_row()), "\"ifp\":true", "\"ifp\":false"));
  ASSERT_FALSE(row);
  EXPECT_THAT(row.error().what, HasSubstr("do not follow"));
}

TEST(Row, HostileLines) {
  const std::string good = format_row(full_row());
  const std::string bad[] = {
      "",
      "null",
      "[]",
      "{}",
      "{\"campaign\":",
      std::string(2 << 20, '['),
      std::string("{\"campaign\":\"\xff\xfe\"}"),
      replaced(good, "\"monday\"", std::string(300'000, '[') + std::string(300'000, ']')),
      replaced(good, "\"monday\"", "17"),
      replaced(good, "\"monday\"", "\"" + std::string(5000, 'x') + "\""),
      replaced(good, "\"set\":\"score\"", "\"set\":\"train\""),
      replaced(good, "\"seed\":18446744073709551615", "\"seed\":-1"),
      replaced(good, "\"seed\":18446744073709551615", "\"seed\":1e300"),
      replaced(good, "\"iteration\":3", "\"iteration\":3.5"),
      replaced(good, "\"iteration\":3", "\"iteration\":18446744073709551615"),
      replaced(good, "\"servers\":5", "\"servers\":0"),
      replaced(good, "\"servers\":5", "\"servers\":-9223372036854775808"),
      replaced(good, "\"seconds\":120.0", "\"seconds\":1e300"),
      replaced(good, "\"seconds\":120.0", "\"seconds\":1e999"),
      replaced(good, "\"seconds\":120.0", "\"seconds\":null"),
      replaced(good, "\"interval_ns\":100000000", "\"interval_ns\":0"),
      replaced(good, "\"on_s\":60.0", "\"on_s\":null"),
      replaced(good, "\"on_s\":60.0", "\"on_s\":\"60\""),
      replaced(good, "\"answer\":\"culprit\"", "\"answer\":\"guilty\""),
      replaced(good, "\"answer\":\"culprit\"", "\"answer\":\"healthy\""),
      replaced(good, "\"params\":{\"bytes\":\"1MB\"}", "\"params\":[]"),
      replaced(good, "\"params\":{\"bytes\":\"1MB\"}", "\"params\":{\"bytes\":{}}"),
      replaced(good, "\"changed\":{", "\"changed\":{\"x\":\"y\","),
      replaced(good, "\"evidence\":[{", "\"evidence\":[7,{"),
      replaced(good, "\"accused\":[{", "\"accused\":[null,{"),
      replaced(good, "\"measured\":{", "\"measured\":{\"x\":[],"),
      replaced(good, "\"dtp\":true", "\"dtp\":1"),
  };
  for (const std::string& line : bad) {
    const Result<Row> row = parse_row(line);
    EXPECT_FALSE(row) << line.substr(0, 200);
    EXPECT_THAT(row ? "" : row.error().what, testing::StartsWith("the line is no row of a campaign: "));
  }
}

TEST(Row, ManyAccusationsAreRefusedAndNotEaten) {
  Row row = scored("none", std::vector<RowAccusation>(1001, accusation("s1", "disk-hog")));
  EXPECT_FALSE(parse_row(format_row(row)));
}

TEST(RowFileTest, RowsAndDiscards) {
  RowFile file{{full_row(), scored("none")},
               {{"monday", "score-ddw-none-1", RunSet::score, "ddw", "none", {}, 2, Outcome::spoiled, "idle 3 %"}}};
  const std::string text = format_rows(file);
  const Result<RowFile> again = parse_rows("\n" + text + "\n", "rows.jsonl");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(format_rows(*again), text);
  EXPECT_EQ(again->discards.at(0).attempt, 2);
}

TEST(RowFileTest, AnErrorNamesTheLine) {
  const Result<RowFile> file = parse_rows(format_row(full_row()) + "nonsense\n", "rows.jsonl");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().what, testing::StartsWith("rows.jsonl, line 2: "));
  EXPECT_FALSE(parse_rows("{\"discarded\":\"kept\"}\n", "rows.jsonl"));
}

TEST(RowFileTest, ARunJudgedTwiceInOneWayIsAnError) {
  RowFile all;
  const RowFile one{{full_row()}, {{"monday", "x", RunSet::score, "ddw", "none", {}, 1, Outcome::failed, ""}}};
  ASSERT_TRUE(add_rows(all, one));
  const Status twice = add_rows(all, one);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().what, HasSubstr("score-ddw-disk_hog-1 of campaign monday is there twice"));
  RowFile other = one;
  other.rows[0].detector = "median_ratio";
  ASSERT_TRUE(add_rows(all, other));
  EXPECT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.discards.size(), 1u);  // the same attempt
}

}  // namespace
}  // namespace culprit
