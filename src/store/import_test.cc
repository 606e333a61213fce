// The CSV and sadf importers, with input that is good, odd and hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "store/import_csv.h"
#include "store/import_sadf.h"

namespace culprit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Status csv(std::string_view text, ImportTable& table) {
  RETURN_IF_ERROR(import_csv(read_bytes_from(text), "a.csv", table));
  return table.finish(true);
}

Status sadf(std::string_view text, ImportTable& table, const std::string& name = "a.json") {
  SadfImport import(table);
  RETURN_IF_ERROR(import.add(read_bytes_from(text), name));
  return table.finish(false);
}

const ImportSeries* find(const ImportTable& table, std::string_view node, std::string_view device,
                         std::string_view metric) {
  for (const ImportSeries& one : table.all())
    if (table.nodes()[one.node] == node && one.device == device && one.metric == metric) return &one;
  return nullptr;
}

std::vector<double> values(const ImportTable& table, std::string_view node, std::string_view device,
                           std::string_view metric) {
  std::vector<double> out;
  if (const ImportSeries* one = find(table, node, device, metric))
    for (const TimedValue& value : one->values) out.push_back(value.value);
  return out;
}

// An input that goes on for `total` bytes of one kind and is never in memory as a whole.
ReadFn endless(std::string start, char filler, int64_t total) {
  return [start, filler, total, at = int64_t{0}](char* buffer, size_t size) mutable -> Result<size_t> {
    if (!start.empty()) {
      size_t n = std::min(size, start.size());
      std::memcpy(buffer, start.data(), n);
      start.erase(0, n);
      return n;
    }
    size_t n = std::min(size, static_cast<size_t>(total - at));
    std::memset(buffer, filler, n);
    at += static_cast<int64_t>(n);
    return n;
  };
}
constexpr int64_t kGigabyte = 1'000'000'000;

TEST(ImportCsv, ColumnsInAnyOrder) {
  ImportTable table;
  auto done = csv("value,metric,node,time\n1.5,tps,s1,2026-11-15T22:40:01Z\n2.5,tps,s1,2026-11-15 22:40:02\n", table);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_THAT(values(table, "s1", "", "tps"), ElementsAre(1.5, 2.5));
  const int64_t first = parse_time("2026-11-15T22:40:01Z").value();
  EXPECT_THAT(times_by_node(table), ElementsAre(ElementsAre(first, first + kNsPerSecond)));
}

// What daemons wrote may reach the disk a tick later, so that what is left for others is less than nothing.
TEST(ImportCsv, DifferencesMayBeNegative) {
  ImportTable table;
  auto done = csv("time,node,metric,value\n1,s1,foreign_io,-4096\n1,s1,foreign_net,-7.5\n", table);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_THAT(values(table, "s1", "", "foreign_io"), ElementsAre(-4096));
  EXPECT_THAT(values(table, "s1", "", "foreign_net"), ElementsAre(-7.5));
}

TEST(ImportCsv, QuotesMarksCommentsAndLineEnds) {
  ImportTable table;
  auto done = csv(
      "\xef\xbb\xbf# made by hand\r\n\r\ntime,node,source,device,metric,value,\"a \"\"comment\"\"\"\r\n"
      "100,s1,disk,\"sd\"\"a,1\",await,3,\"two\nlines\"\r\n# in between\r\n101,\"s1\",disk,\"sd\"\"a,1\",await, 4 ,x",
      table);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_THAT(values(table, "s1", "sd\"a,1", "await"), ElementsAre(3, 4));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("columns not used: a \"comment\"")));
}

TEST(ImportCsv, RowsInAnyOrderAreSorted) {
  ImportTable table;
  ASSERT_TRUE(csv("time,node,metric,value\n103,s1,tps,3\n101,s1,tps,1\n102,s2,tps,9\n102,s1,tps,2\n", table));
  EXPECT_THAT(values(table, "s1", "", "tps"), ElementsAre(1, 2, 3));
  EXPECT_THAT(table.nodes(), ElementsAre("s1", "s2"));
}

TEST(ImportCsv, MissingValuesAreCountedNotZero) {
  ImportTable table;
  ASSERT_TRUE(
      csv("time,node,metric,value\n1,s1,await,NaN\n2,s1,await,\n3,s1,await,-inf\n4,s1,await,7\n5,s1,await,Infinity\n",
          table));
  EXPECT_THAT(values(table, "s1", "", "await"), ElementsAre(7));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("4 values are missing")));
}

TEST(ImportCsv, OtherNamesOfMetrics) {
  ImportTable table;
  ASSERT_TRUE(csv("time,node,metric,value\n1,s1,%util,50\n1,s1,cwnd,10\n1,s1,rd_sec/s,8\n1,s1,frobs,-8\n1,s1,awiat,8\n",
                  table));
  EXPECT_THAT(values(table, "s1", "", "util"), ElementsAre(50));
  EXPECT_THAT(values(table, "s1", "", "cwnd_to_clients"), ElementsAre(10));
  EXPECT_THAT(values(table, "s1", "", "rd_sec"), ElementsAre(8));
  EXPECT_THAT(values(table, "s1", "", "frobs"), ElementsAre(-8)) << "an unknown metric is kept as it is";
  EXPECT_THAT(table.notes(), Contains(HasSubstr("'frobs' is kept")));
}

TEST(ImportCsv, TheSameValueTwiceIsANote) {
  ImportTable table;
  ASSERT_TRUE(csv("time,node,metric,value\n1,s1,tps,1\n1,s1,tps,1\n2,s1,tps,1\n", table));
  EXPECT_THAT(values(table, "s1", "", "tps"), ElementsAre(1, 1));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("1 values came twice")));
}

struct BadCsv {
  const char* name;
  std::string text;
  const char* what;
};
class BadCsvTest : public testing::TestWithParam<BadCsv> {};

TEST_P(BadCsvTest, IsOneSentenceAndAHint) {
  ImportTable table;
  auto done = csv(GetParam().text, table);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr(GetParam().what));
  EXPECT_NE(done.error().hint, "");
  EXPECT_EQ(done.error().message().find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCsvTest,
    testing::Values(
        BadCsv{"empty", "", "a.csv is empty"}, BadCsv{"only_comments", "# nothing\n\n", "a.csv is empty"},
        BadCsv{"no_header", "1,s1,tps,1\n", "line 1: the header has no column named time"},
        BadCsv{"semicolons", "time;node;metric;value\n", "line 1: the header has no column named time"},
        BadCsv{"near_header", "times,node,metric,value\n", "no column named time"},
        BadCsv{"column_twice", "time,time,node,metric,value\n", "two columns named time"},
        BadCsv{"few_fields", "time,node,metric,value\n1,s1,tps\n", "line 2: the line has 3 fields, the header 4"},
        BadCsv{"bad_time", "time,node,metric,value\n\nyesterday,s1,tps,1\n", "line 3: 'yesterday' is not a time"},
        BadCsv{"bad_number", "time,node,metric,value\n1,s1,tps,1.2.3\n", "line 2: '1.2.3' is not a number"},
        BadCsv{"overflow", "time,node,metric,value\n1,s1,tps,1e999\n", "'1e999' is not a number"},
        BadCsv{"negative", "time,node,metric,value\n1,s1,tps,1\n2,s1,await,-3\n", "line 3: await is negative"},
        BadCsv{"bad_node", "time,node,metric,value\n1,../x,tps,1\n", "line 2: '../x' cannot be a node's name"},
        BadCsv{"no_node", "time,node,metric,value\n1,,tps,1\n", "line 2: a node's name is empty"},
        BadCsv{"no_metric", "time,node,metric,value\n1,s1,,1\n", "line 2: a metric's name is empty"},
        BadCsv{"open_quote", "time,node,metric,value\n1,\"s1,tps,1\n", "line 2: a quoted field is not closed"},
        BadCsv{"two_servers", "time,node,metric,value\n1,s1,tps,1\n1,s1,tps,900\n",
               "node s1 has two different values of tps"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ImportCsv, AGigabyteInOneLine) {
  for (const char* start :
       {"", "time,node,metric,value\n", "time,node,metric,value\n1,\"", "time,node,metric,value\n1,"}) {
    ImportTable table;
    auto done = import_csv(endless(start, 'x', kGigabyte), "a.csv", table);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("the line is longer than 1 MB"));
  }
  ImportTable table;
  EXPECT_THAT(import_csv(endless("", ',', kGigabyte), "a.csv", table).error().message(),
              HasSubstr("more than 1000 fields"));
}

TEST(ImportCsv, MoreValuesThanFit) {
  ImportTable table(2);
  EXPECT_THAT(csv("time,node,metric,value\n1,a,tps,1\n2,a,tps,1\n3,a,tps,1\n", table).error().message(),
              HasSubstr("more than 2 values"));
}

std::string fixture(const std::string& name) {
  return read_file(cat(CULPRIT_SOURCE_DIR, "/tests/fixtures/sadf/", name)).value();
}

TEST(ImportSadf, OldSysstat) {
  ImportTable table;
  auto done = sadf(fixture("sysstat-10.json"), table);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_THAT(table.nodes(), ElementsAre("oss1"));
  EXPECT_THAT(values(table, "oss1", "dev8-0", "tps"), ElementsAre(0, 120.5, 0, 0, 80));
  EXPECT_THAT(values(table, "oss1", "dev8-0", "rd_sec"), ElementsAre(0, 2048, 0, 0, 1024));
  EXPECT_THAT(values(table, "oss1", "dev8-0", "svctm"), ElementsAre(1.5, 2.5));
  EXPECT_THAT(values(table, "oss1", "em1", "rxbyt"), ElementsAre(2560, 2560, 2560, 2560, 2560));
  EXPECT_THAT(values(table, "oss1", "", "retrans"), ElementsAre(3, 3, 3, 3, 3));
  EXPECT_DOUBLE_EQ(values(table, "oss1", "", "cpu_busy").at(0), 100 - 97.78 - 1);
  EXPECT_EQ(find(table, "oss1", "dev8-0", "tps")->values[0].t_ns, parse_time("2019-01-24T16:30:01Z").value());
  ASSERT_EQ(table.events().size(), 1u);
  EXPECT_EQ(table.events()[0].text, "the node was restarted");
}

TEST(ImportSadf, NoRequestsMeansNoAwaitAndAStalledDiskShowsItsStall) {
  ImportTable table;
  ASSERT_TRUE(sadf(fixture("sysstat-10.json"), table));
  const ImportSeries* await = find(table, "oss1", "dev8-0", "await");
  ASSERT_TRUE(await);
  // The idle first tick has none; two busy ticks without a completion have 1 s and 2 s.
  EXPECT_THAT(values(table, "oss1", "dev8-0", "await"), ElementsAre(10.37, 1000, 2000, 5));
  EXPECT_EQ(await->values[0].t_ns, parse_time("2019-01-24T16:30:02Z").value());
}

TEST(ImportSadf, NewSysstatEqualsItsOwnSectors) {
  ImportTable table;
  auto done = sadf(fixture("sysstat-12.json"), table);
  ASSERT_TRUE(done) << done.error().message();
  std::vector<double> written = values(table, "oss2", "vda", "wr_sec");
  ASSERT_EQ(written.size(), 5u);
  double sum = 0;
  for (double sectors : written) sum += sectors;
  EXPECT_GE(sum, 100 * 2048) << "the recording holds a write of 100 MiB";
  EXPECT_TRUE(find(table, "oss2", "eth0", "txbyt"));
  EXPECT_TRUE(find(table, "oss2", "", "io_pressure"));
}

std::string tick(std::string_view time, std::string_view rest, int utc = 1) {
  return cat("{\"timestamp\":{\"date\":\"2026-11-15\",\"time\":\"", time, "\",\"utc\":", utc, ",\"interval\":1}", rest,
             "}");
}
std::string disk(std::string_view fields) {
  return cat(",\"disk\":[{\"disk-device\":\"sda\",", fields, "}]");
}
std::string host(std::string_view name, std::string_view ticks) {
  return cat("{\"nodename\":\"", name, "\",\"statistics\":[", ticks, "]}");
}
std::string doc(std::string_view hosts) {
  return cat("{\"sysstat\":{\"hosts\":[", hosts, "]}}");
}

TEST(ImportSadf, KilobytesBecomeSectors) {
  ImportTable table;
  ASSERT_TRUE(sadf(
      doc(host("a", tick("10:00:00",
                         disk("\"tps\":1,\"rkB\":4,\"wkB\":8,\"areq-sz\":12,\"aqu-sz\":2,\"await\":3,\"%util\":9")))),
      table));
  EXPECT_THAT(values(table, "a", "sda", "rd_sec"), ElementsAre(8));
  EXPECT_THAT(values(table, "a", "sda", "wr_sec"), ElementsAre(16));
  EXPECT_THAT(values(table, "a", "sda", "avgrq-sz"), ElementsAre(24));
  EXPECT_THAT(values(table, "a", "sda", "avgqu-sz"), ElementsAre(2));
  EXPECT_THAT(values(table, "a", "sda", "util"), ElementsAre(9));
}

TEST(ImportSadf, SectorsWinOverKilobytesInAnyOrder) {
  ImportTable table;
  ASSERT_TRUE(sadf(doc(host("a", tick("10:00:00", disk("\"rkB\":4,\"rd_sec\":9,\"rkB\":5")))), table));
  EXPECT_THAT(values(table, "a", "sda", "rd_sec"), ElementsAre(9));
}

TEST(ImportSadf, NegativeAndAbsurdValuesAreLeftOut) {
  ImportTable table;
  ASSERT_TRUE(
      sadf(doc(host("a", tick("10:00:00", disk("\"tps\":-3,\"rd_sec\":1e300,\"wr_sec\":5,\"await\":null")))), table));
  EXPECT_THAT(values(table, "a", "sda", "tps"), ElementsAre());
  EXPECT_THAT(values(table, "a", "sda", "rd_sec"), ElementsAre());
  EXPECT_THAT(values(table, "a", "sda", "wr_sec"), ElementsAre(5));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("2 values of a are negative or absurd")));
}

TEST(ImportSadf, TwoServersWithOneName) {
  std::string a = doc(host("a", tick("10:00:00", disk("\"tps\":1")) + "," + tick("10:00:05", disk("\"tps\":1"))));
  std::string later = doc(host("a", tick("11:00:00", disk("\"tps\":2"))));
  ImportTable table;
  SadfImport import(table);
  ASSERT_TRUE(import.add(read_bytes_from(a), "one.json"));
  EXPECT_TRUE(import.add(read_bytes_from(later), "later.json")) << "another day of the same host is fine";
  auto again = import.add(read_bytes_from(a), "two.json");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("two.json and one.json both have records of a"));
  EXPECT_THAT(again.error().hint, HasSubstr("two servers with one name"));
}

TEST(ImportSadf, TimeGoingBackwardsIsSortedAndSaid) {
  ImportTable table;
  ASSERT_TRUE(
      sadf(doc(host("a", tick("10:00:01", disk("\"tps\":1")) + "," + tick("10:00:00", disk("\"tps\":0")))), table));
  EXPECT_THAT(values(table, "a", "sda", "tps"), ElementsAre(0, 1));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("does not go forward at 1 places")));
}

TEST(ImportSadf, LocalTimesAreSaid) {
  ImportTable table;
  ASSERT_TRUE(sadf(
      doc(host("a", tick("10:00:01", disk("\"tps\":1"), 0)) + "," + host("b", tick("10:00:01", disk("\"tps\":1"), 1))),
      table));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("times of a are its local time")));
  EXPECT_THAT(table.notes(), Contains(HasSubstr("same zone")));
}

std::string zoned(std::string_view zone) {
  return cat("{\"timestamp\":{\"date\":\"2026-11-15\",\"time\":\"10:00:01\",\"tz\":\"", zone, "\",\"interval\":1}",
             disk("\"tps\":1"), "}");
}

// Newer sysstat names the zone instead of saying "utc": 1.
TEST(ImportSadf, ZonesByName) {
  ImportTable utc;
  ASSERT_TRUE(sadf(doc(host("a", zoned("UTC"))), utc));
  EXPECT_THAT(utc.notes(), ElementsAre());
  ImportTable local;
  ASSERT_TRUE(sadf(doc(host("a", zoned("CEST"))), local));
  EXPECT_THAT(local.notes(), Contains(HasSubstr("times of a are its local time (CEST), taken for UTC")));
}

TEST(ImportSadf, CutAnywhereGivesWhatWasWhole) {
  std::string whole = fixture("sysstat-10.json");
  size_t end = whole.rfind("16:30:05");
  for (size_t cut = 0; cut < whole.size() - 3; cut += 7) {
    ImportTable table;
    auto done = sadf(std::string_view(whole).substr(0, cut), table);
    if (!done) {
      EXPECT_THAT(done.error().message(), HasSubstr(cut == 0 ? "is empty" : "cut off before its first record")) << cut;
      continue;
    }
    EXPECT_THAT(table.notes(), Contains(HasSubstr("is cut off after"))) << cut;
    if (cut > end) {
      EXPECT_GE(values(table, "oss1", "dev8-0", "tps").size(), 4u) << cut;
    }
    EXPECT_EQ(values(table, "oss1", "dev8-0", "tps").size(), values(table, "oss1", "", "retrans").size())
        << "no half tick";
  }
}

TEST(ImportSadf, FlippedBitsNeverCrash) {
  std::string whole = fixture("sysstat-12.json");
  int good = 0;
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string bent = whole;
    bent[at] = static_cast<char>(bent[at] ^ (1 << (at % 8)));
    ImportTable table;
    auto done = sadf(bent, table);
    if (done)
      ++good;
    else
      EXPECT_EQ(done.error().message().find('\n'), std::string::npos) << done.error().message();
  }
  EXPECT_GT(good, 0) << "a changed digit is still a document";
}

struct BadSadf {
  const char* name;
  std::string text;
  const char* what;
};
class BadSadfTest : public testing::TestWithParam<BadSadf> {};

TEST_P(BadSadfTest, IsOneSentenceAndAHint) {
  ImportTable table;
  auto done = sadf(GetParam().text, table);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr(GetParam().what));
  EXPECT_NE(done.error().hint, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSadfTest,
    testing::Values(
        BadSadf{"empty", "", "a.json is empty"}, BadSadf{"blank", "\n\n", "cut off before"},
        BadSadf{"other_json", "{\"a\":[1,2]}", "holds no statistics"}, BadSadf{"number", "7 ", "holds no statistics"},
        BadSadf{"no_json", "time,node\n", "line 1: the file is not JSON"},
        BadSadf{"nan", doc(host("a", tick("10:00:00", disk("\"tps\":nan")))), "is not JSON from here on"},
        BadSadf{"overflow", doc(host("a", tick("10:00:00", disk("\"tps\":1e999")))), "is not JSON from here on"},
        BadSadf{"comma", "{\"sysstat\":{\"hosts\":[{\"file-date\":\"2014-02-18\"\n\"file-utc-time\":\"18:00:00\"}]}}",
                "comma is missing"},
        BadSadf{"no_time", doc(host("a", "{\"disk\":[]}")), "has no date and time"},
        BadSadf{"us_time", doc(host("a", tick("10:00:00 PM", ""))), "is not a date and time"},
        BadSadf{"no_host", doc("{\"statistics\":[{}]}"), "before the host's nodename"},
        BadSadf{"bad_host", doc(host("a/b", tick("10:00:00", ""))), "cannot be a node's name"},
        BadSadf{"no_device", doc(host("a", tick("10:00:00", ",\"disk\":[{\"tps\":1}]"))), "has no name"},
        BadSadf{"same_host_twice", doc(host("a", tick("10:00:00", "")) + "," + host("a", tick("10:00:00", ""))),
                "both have records of a"},
        BadSadf{"deep", std::string(5000, '['), "nesting is deeper"},
        BadSadf{"two_docs", doc("") + doc(""), "is not JSON"},
        BadSadf{"utf8", "{\"sysstat\":\"\xff\xfe\"}", "is not JSON"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ImportSadf, AGigabyteInOneToken) {
  for (auto [start, filler] :
       {std::pair{"{\"", 'x'}, {"{\"a\":\"", 'x'}, {"{\"a\":", '1'}, {"", ' '}, {"{\"a\":\"", '\\'}, {"", '\n'}}) {
    ImportTable table;
    SadfImport import(table);
    auto done = import.add(endless(start, filler, kGigabyte), "a.json");
    ASSERT_FALSE(done) << start << filler;
    EXPECT_THAT(done.error().message(), testing::AnyOf(HasSubstr("longer than 64 kB"), HasSubstr("is not JSON")))
        << start << filler;
  }
}

TEST(ImportTable, ReadingAFolderIsRefused) {
  EXPECT_THAT(read_bytes_of("/").error().message(), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace culprit
