#include "cli/syscap/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "base/units.h"
#include "calls/syscalls.h"

namespace culprit {
namespace {

using testing::HasSubstr;

Call a_write() {
  Call call;
  call.process = 7;
  call.thread = 8;
  call.number = find_syscall("pwrite64")->number;
  call.start_ns = 100 * kNsPerSecond;
  call.duration_ns = 50 * kNsPerMs;
  call.result = -ENOSPC;
  return call;
}

FdRecord a_brick() {
  FdRecord record;
  record.process = 7;
  record.fd = 3;
  record.fd_class = FdClass::storage;
  record.name = "/brick/a/file";
  return record;
}

bool keeps(const CallFilter& filter, const Call& call = a_write()) {
  FdRecord brick = a_brick();
  return filter.keeps(call, &brick);
}

TEST(CallFilter, EmptyKeepsEverything) {
  EXPECT_TRUE(keeps(CallFilter()));
  EXPECT_TRUE(CallFilter().keeps(a_write(), nullptr));
  EXPECT_FALSE(CallFilter().needs_records());
}

TEST(CallFilter, EachConditionCanSayNo) {
  struct Row {
    CallFilter yes, no;
  };
  std::vector<Row> rows;
  rows.push_back({{.processes = {7}}, {.processes = {8}}});
  rows.push_back({{.threads = {8}}, {.threads = {7}}});
  rows.push_back({{.calls = {a_write().number}}, {.calls = {0}}});
  rows.push_back({{.classes = {FdClass::storage}}, {.classes = {FdClass::fuse}}});
  rows.push_back({{.kinds = {CallKind::call}}, {.kinds = {CallKind::aio}}});
  rows.push_back({{.path = "/a/"}, {.path = "/b/"}});
  rows.push_back({{.errors = {ENOSPC, EPERM}}, {.errors = {EIO}}});
  rows.push_back({{.longer_ns = 50 * kNsPerMs}, {.longer_ns = 51 * kNsPerMs}});
  rows.push_back({{.since_ns = 100 * kNsPerSecond}, {.since_ns = 101 * kNsPerSecond}});
  rows.push_back({{.until_ns = 100 * kNsPerSecond + 1}, {.until_ns = 100 * kNsPerSecond}});
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(keeps(rows[i].yes)) << i;
    EXPECT_FALSE(keeps(rows[i].no)) << i;
  }
}

TEST(CallFilter, AnyErrorAndUnfinishedCalls) {
  CallFilter any{.errors = {kAnyError}};
  EXPECT_TRUE(keeps(any));
  Call good = a_write();
  good.result = 4096;
  EXPECT_FALSE(keeps(any, good));
  Call open = a_write();
  open.duration_ns = kUnfinished;
  EXPECT_TRUE(keeps(CallFilter{.longer_ns = 3600 * kNsPerSecond}, open)) << "nobody knows how long it would have been";
  Call signal = a_write();
  signal.kind = CallKind::signal;
  EXPECT_FALSE(keeps(CallFilter{.longer_ns = 1}, signal));
  EXPECT_FALSE(keeps(CallFilter{.calls = {signal.number}}, signal)) << "signals have numbers, too";
}

TEST(CallFilter, SumsByClassCallAndTime) {
  CallSum sum;
  sum.second = 100;
  sum.fd_class = FdClass::storage;
  sum.number = 1;
  EXPECT_TRUE(CallFilter().keeps(sum));
  EXPECT_FALSE(CallFilter{.calls = {2}}.keeps(sum));
  EXPECT_FALSE(CallFilter{.classes = {FdClass::fuse}}.keeps(sum));
  EXPECT_TRUE(CallFilter{.since_ns = 100 * kNsPerSecond + 5}.keeps(sum));
  EXPECT_FALSE(CallFilter{.since_ns = 101 * kNsPerSecond}.keeps(sum));
  EXPECT_FALSE(CallFilter{.until_ns = 100 * kNsPerSecond}.keeps(sum));
  EXPECT_TRUE(CallFilter{.until_ns = 100 * kNsPerSecond + 1}.keeps(sum));
  EXPECT_TRUE(CallFilter{.path = "x"}.needs_records());
  EXPECT_TRUE((CallFilter{.kinds = {CallKind::signal, CallKind::exit}}.only_moments()));
  EXPECT_FALSE((CallFilter{.kinds = {CallKind::signal, CallKind::call}}.only_moments()));
  EXPECT_FALSE(CallFilter().only_moments());
}

TEST(CallFilter, WordsAreCheckedAgainstTheTables) {
  EXPECT_EQ(parse_call_names("read,write")->size(), 2u);
  EXPECT_THAT(parse_call_names("fsynk").error().hint, HasSubstr("fsync"));
  EXPECT_TRUE(parse_classes("storage,to-client")->contains(FdClass::to_client));
  EXPECT_FALSE(parse_classes("disk"));
  EXPECT_TRUE(parse_kinds("aio")->contains(CallKind::aio));
  EXPECT_FALSE(parse_kinds(""));
  EXPECT_EQ(*parse_errnos("ENOSPC"), std::set<int>{ENOSPC});
  EXPECT_EQ(*parse_errnos("28, EIO"), (std::set<int>{28, EIO}));
  EXPECT_EQ(*parse_errnos("any"), std::set<int>{kAnyError});
  for (const char* bad : {"ENOSPACE", "0", "-1", "99999", "", "EIO,"}) EXPECT_FALSE(parse_errnos(bad)) << bad;
}

TEST(CallFilter, MomentsAreTimesOrOffsets) {
  constexpr int64_t kStart = 1'700'000'000 * kNsPerSecond;
  EXPECT_EQ(*parse_moment("+90s", kStart), kStart + 90 * kNsPerSecond);
  EXPECT_EQ(*parse_moment("+2", kStart), kStart + 2 * kNsPerSecond);
  EXPECT_EQ(*parse_moment("1700000005", kStart), kStart + 5 * kNsPerSecond);
  EXPECT_EQ(*parse_moment("2023-11-14T22:13:21Z", kStart), kStart + kNsPerSecond);
  EXPECT_GT(*parse_moment("+100000d", INT64_MAX), 0) << "a log that lies about its begin";
  for (const char* bad : {"soon", "", "+", "+soon", "-5s"}) EXPECT_FALSE(parse_moment(bad, kStart)) << bad;
}

}  // namespace
}  // namespace culprit
