#include "study/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "study/paper.h"
#include "study/row_test_rows.h"
#include "study/tables.h"
#include "study/tally_interval.h"

namespace culprit {
namespace {

using testing::HasSubstr;

TEST(Wilson, KnownValues) {
  EXPECT_NEAR(wilson(0, 10).high, 0.2775, 1e-4);
  EXPECT_DOUBLE_EQ(wilson(0, 10).low, 0);
  EXPECT_NEAR(wilson(5, 10).low, 0.2366, 1e-4);
  EXPECT_NEAR(wilson(5, 10).high, 0.7634, 1e-4);
  EXPECT_NEAR(wilson(81, 263).low, 0.2553, 1e-4);  // Newcombe's example (Statistics in Medicine, 1998)
  EXPECT_NEAR(wilson(81, 263).high, 0.3662, 1e-4);
  EXPECT_DOUBLE_EQ(wilson(10, 10).high, 1);
  EXPECT_DOUBLE_EQ(wilson(0, 0).low, 0);
  EXPECT_DOUBLE_EQ(wilson(0, 0).high, 1);
}

TEST(Poisson, KnownValues) {
  EXPECT_DOUBLE_EQ(poisson(0).low, 0);
  EXPECT_NEAR(poisson(0).high, 3.6889, 1e-4);
  EXPECT_NEAR(poisson(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(poisson(1).high, 5.5716, 1e-4);
  EXPECT_NEAR(poisson(10).low, 4.7954, 1e-4);
  EXPECT_NEAR(poisson(10).high, 18.3904, 1e-4);
  EXPECT_NEAR(poisson(1000).low, 938.97, 0.05);
  EXPECT_NEAR(poisson(1000).high, 1063.95, 0.05);
}

TEST(Quantile, Interpolates) {
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.1), 1);
}

// Rows whose shares are those of one line of the paper.
void add_paper_rows(const PaperRow& paper, std::vector<Row>& out) {
  auto runs = [](double percent) { return static_cast<int>(std::lround(percent * kPaperRuns / 100)); };
  for (int i = 0; i < kPaperRuns; ++i) {
    Row row = scored(std::string(paper.fault));
    row.itp = i < runs(paper.itp);
    row.ifp = i < runs(paper.ifp);
    row.dtp = i < runs(paper.dtp);
    row.dfp = i < runs(paper.dfp);
    out.push_back(std::move(row));
  }
}

TEST(Tally, TheRowsOfThePapersTablesGiveItsAggregates) {
  for (const PaperTable& table : paper_tables()) {
    std::vector<Row> rows;
    for (const PaperRow& paper : table.rows) add_paper_rows(paper, rows);
    const Scores total = tally_rows(rows).total;
    EXPECT_EQ(total.runs, 350);
    EXPECT_EQ(total.faulty, 300);
    EXPECT_NEAR(100.0 * total.itp / total.faulty, table.aggregate.itp, 0.051) << table.source;
    EXPECT_NEAR(100.0 * total.ifp / total.runs, table.aggregate.ifp, 0.051) << table.source;
    EXPECT_NEAR(100.0 * total.dtp / total.caused, table.aggregate.dtp, 0.051) << table.source;
    EXPECT_NEAR(100.0 * total.dfp / total.runs, table.aggregate.dfp, 0.051) << table.source;
  }
}

Row control(std::vector<RowAccusation> accused) {
  Row row = scored("none", std::move(accused));
  row.truth.set = RunSet::control;
  row.truth.workload = "hot";
  score_row(row);
  return row;
}

std::vector<Row> mixed() {
  std::vector<Row> rows{
      scored("none"),
      scored("none", {accusation("s1", "disk-hog"), accusation("s2", "disk-hog")}),
      scored("disk_hog", {accusation("s3", "disk-hog", 80)}),
      scored("disk_hog", {accusation("s3", "disk-busy", 100), accusation("s3", "disk-hog", 120)}),
      scored("disk_hog", {accusation("s3", "disk-busy", 50)}),
      scored("disk_hog", {accusation("s1", "disk-busy")}),
      scored("disk_hog"),
      scored("disk_hog"),
      scored("cpu_hog", {accusation("s3", "network-hog")}),
      control({accusation("s4", "disk-busy")}),
      control({}),
  };
  rows[7].answer = "undecided";
  rows[8].truth.workload = "ddr";
  rows[9].seconds = 0.1;
  return rows;
}

TEST(Tally, CountsPerFaultAndWorkload) {
  const Tally tally = tally_rows(mixed());
  ASSERT_EQ(tally.by_fault.size(), 3u);
  EXPECT_EQ(tally.by_fault[0].name, "none");
  EXPECT_EQ(tally.by_fault[1].name, "disk_hog");
  EXPECT_EQ(tally.by_fault[2].name, "cpu_hog");  // not one of the paper's: last
  EXPECT_EQ(tally.by_fault[1].runs, 6);
  EXPECT_EQ(tally.by_fault[1].itp, 3);
  EXPECT_EQ(tally.by_fault[1].ifp, 1);
  EXPECT_EQ(tally.by_fault[1].dtp, 2);
  EXPECT_EQ(tally.by_fault[1].dfp, 3);
  EXPECT_EQ(tally.by_fault[1].undecided, 1);
  EXPECT_EQ(tally.by_fault[2].caused, 0);
  EXPECT_EQ(tally.total.runs, 9);  // without the controls
  EXPECT_EQ(tally.total.faulty, 7);
  EXPECT_EQ(tally.total.caused, 6);
  ASSERT_EQ(tally.by_workload.size(), 2u);
  EXPECT_EQ(tally.by_workload[0].name, "ddr");
  EXPECT_EQ(tally.by_cell.size(), 3u);
  ASSERT_EQ(tally.controls.size(), 1u);
  EXPECT_EQ(tally.controls[0].runs, 2);
  EXPECT_EQ(tally.controls[0].ifp, 1);
}

TEST(Tally, TwoIntensitiesAreTwoFaults) {
  std::vector<Row> rows = {scored("disk_hog", {accusation("s3", "disk-hog")}), scored("disk_hog"), scored("none")};
  rows[1].truth.params = {{"share", "0.25"}};
  const Tally tally = tally_rows(rows);
  ASSERT_EQ(tally.by_fault.size(), 3u);
  EXPECT_EQ(tally.by_fault[1].name, "disk_hog");
  EXPECT_EQ(tally.by_fault[1].itp, 1);
  EXPECT_EQ(tally.by_fault[2].name, "disk_hog share=0.25");
  EXPECT_EQ(tally.by_fault[2].itp, 0);
  EXPECT_EQ(tally.by_cell.size(), 3u);
  EXPECT_EQ(tally.confusion[2].fault, "disk_hog share=0.25");
  EXPECT_EQ(tally.total.faulty, 2);
  RowFile file{rows, {{"monday", "x", RunSet::score, "ddw", "disk_hog", {{"share", "0.25"}}, 1, Outcome::failed, ""}}};
  EXPECT_EQ(tally_discards(file).cells.at(0).fault, "disk_hog share=0.25");
  EXPECT_EQ(tally_discards(file).cells.at(0).kept, 1);
}

TEST(Tally, ConfusionCountsEveryRunOnce) {
  const Tally tally = tally_rows(mixed());
  ASSERT_EQ(tally.confusion.size(), 4u);
  using Named = std::map<std::string, int>;
  EXPECT_EQ(tally.confusion[0].named, (Named{{"nothing", 1}, {"other server", 1}}));
  EXPECT_EQ(tally.confusion[1].named,
            (Named{{"disk-hog", 2}, {"disk-busy", 1}, {"other server", 1}, {"nothing", 1}, {"undecided", 1}}));
  EXPECT_EQ(tally.confusion[2].named, (Named{{"network-hog", 1}}));
  EXPECT_EQ(tally.confusion[3].fault, "(control)");
}

TEST(Tally, LatencyAndFalseAlarms) {
  const Tally tally = tally_rows(mixed());
  ASSERT_EQ(tally.latency.size(), 2u);
  EXPECT_EQ(tally.latency[0].seconds, (std::vector<double>{20, 40}));
  EXPECT_EQ(tally.latency[0].early, 1);
  EXPECT_EQ(tally.fault_free.runs, 2);
  EXPECT_EQ(tally.fault_free.accusations, 2);
  EXPECT_NEAR(tally.fault_free.server_hours, 2 * 5 * 120 / 3600.0, 1e-12);
  EXPECT_EQ(tally.control.accusations, 1);
}

TEST(Tally, LatenciesOfTwoIntervalsAreNotMixed) {
  std::vector<Row> rows = mixed();
  rows[2].interval_ns *= 10;
  const Tally tally = tally_rows(rows);
  ASSERT_EQ(tally.latency.size(), 3u);
  EXPECT_EQ(tally.latency[0].seconds, (std::vector<double>{40}));
  EXPECT_EQ(tally.latency[1].seconds, (std::vector<double>{20}));
}

TEST(Tally, TheOrderOfTheRowsDoesNotMatter) {
  std::vector<Row> rows = mixed();
  const std::string text = tally_text(tally_rows(rows), By::cell, true);
  const std::string json = tallies_json({tally_rows(rows)}, Discards(), true);
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(rows.begin(), rows.end(), random);
    EXPECT_EQ(tally_text(tally_rows(rows), By::cell, true), text);
    EXPECT_EQ(tallies_json({tally_rows(rows)}, Discards(), true), json);
  }
}

TEST(Tally, MethodsAreNotAddedUp) {
  std::vector<Row> rows = mixed();
  rows[0].detector = "median_ratio";
  rows[1].changed["k"] = 4;
  const auto methods = rows_by_method(rows);
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_EQ(methods.at("fast10").size(), 9u);
  EXPECT_EQ(methods.at("fast10 k=4").size(), 1u);
}

TEST(Discards, PerCellWithWhatWasKept) {
  RowFile file;
  file.rows = mixed();
  Row again = file.rows[0];
  again.detector = "median_ratio";  // the same run
  file.rows.push_back(again);
  file.discards = {{"monday", "a", RunSet::score, "ddw", "none", {}, 1, Outcome::spoiled, "idle"},
                   {"monday", "a", RunSet::score, "ddw", "none", {}, 2, Outcome::failed, "mount"},
                   {"monday", "t", RunSet::train, "ddw", "none", {}, 1, Outcome::failed, "mount"}};
  const Discards discards = tally_discards(file);
  EXPECT_EQ(discards.kept, 11);
  EXPECT_EQ(discards.discarded, 2);
  EXPECT_THAT(discards_text(discards),
              HasSubstr("2 of 13 attempts at scored and control runs were discarded (15.4 %)."));
  const std::vector<DiscardCell>& cells = discards.cells;
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].set, RunSet::train);
  EXPECT_EQ(cells[1].kept, 2);
  EXPECT_EQ(cells[1].spoiled, 1);
  EXPECT_EQ(cells[1].failed, 1);
}

TEST(Pairs, SameAndDifferent) {
  std::vector<Row> slow{scored("disk_hog", {accusation("s3", "disk-hog")}), scored("none"),
                        scored("disk_busy", {accusation("s3", "disk-busy")}), scored("none")};
  std::vector<Row> fast = slow;
  fast.pop_back();
  for (Row& row : fast) row.campaign = "tuesday";
  fast[1].answer = "undecided";
  fast[2].accused[0].cause = "disk-hog";
  const Result<RunPairs> pairs = pair_rows(slow, fast);
  ASSERT_TRUE(pairs) << pairs.error().message();
  ASSERT_EQ(pairs->pairs.size(), 3u);
  EXPECT_EQ(pairs->only_a, 1);
  EXPECT_EQ(pairs->only_b, 0);
  EXPECT_EQ(std::count_if(pairs->pairs.begin(), pairs->pairs.end(), [](const RunPair& p) { return p.same(); }), 1);
  const std::string text = pairs_text(*pairs);
  EXPECT_THAT(text, HasSubstr("s3 disk-busy"));
  EXPECT_THAT(text, HasSubstr("Without a partner: 1 of the first, 0 of the second."));
  std::vector<Row> stronger = fast, elsewhere = fast;
  stronger[0].truth.params["share"] = "0.5";
  elsewhere[0].truth.victim = "s1";
  EXPECT_FALSE(pair_rows(slow, stronger));
  EXPECT_FALSE(pair_rows(slow, elsewhere));
  EXPECT_FALSE(pair_rows(slow, {}));
  slow.push_back(slow[0]);
  EXPECT_FALSE(pair_rows(slow, slow));
}

TEST(Tables, MarkdownThatIsAlignedAndHarmless) {
  const std::string text = grid_text({"T", {"name", "n"}, {{"a|b\x1b[2J", "1"}, {"long name", "12"}}, "note"});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("| name "));
  EXPECT_THAT(text, HasSubstr("|  12 |\n"));
  EXPECT_THAT(text, HasSubstr("a/b"));
  EXPECT_THAT(text, testing::EndsWith("\n\nnote\n\n"));
  EXPECT_EQ(grid_text({"T", {"name"}, {}, "note"}), "");
}

TEST(Tables, SayWhatThereIs) {
  std::vector<Row> rows = mixed();
  rows[0].origin = "simulated";
  const std::string text = tally_text(tally_rows(rows), By::fault_and_workload, true);
  EXPECT_THAT(text, HasSubstr("1 runs are simulated, which is no evidence of accuracy"));
  EXPECT_THAT(text, HasSubstr("DTP is not scored for faults"));
  EXPECT_THAT(text, HasSubstr("PVFS 10/10"));
  EXPECT_THAT(text, HasSubstr("50.0 (18.8-81.2)"));  // 3 of 6 disk hogs found
  EXPECT_EQ(text.find("Per cell"), std::string::npos);
}

}  // namespace
}  // namespace culprit
