#include "calls/call_export.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "calls/strace_import.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kUs = 1000;
constexpr uint64_t kCwd = static_cast<uint64_t>(int64_t{-100});
constexpr uint64_t kThreadFlags = 0x3d0f00;  // what pthread_create asks for

Call call_of(uint64_t sequence, int32_t thread, int64_t start_us, int64_t us, int number, std::array<uint64_t, 6> args,
             int64_t result) {
  Call call;
  call.sequence = sequence;
  call.start_ns = kStart + start_us * kUs;
  call.duration_ns = us == kUnfinished ? kUnfinished : us * kUs;
  call.process = 100;
  call.thread = thread;
  call.number = number;
  call.args = args;
  call.result = result;
  return call;
}

Call other_kind(CallKind kind, Call call) {
  call.kind = kind;
  return call;
}

// What a log keeps in order of completion: two threads that overlap, errors, a signal, the end. Pointers are 0, because
// no text has them.
std::vector<Call> some_calls() {
  return {
      call_of(1, 100, 0, 50, __NR_openat, {kCwd, 0, O_RDWR | 040000, 0, 0, 0}, 7),
      call_of(2, 100, 100, 20, __NR_clone, {kThreadFlags, 0, 0, 0, 0, 0}, 101),
      call_of(4, 100, 300, 100, __NR_pwrite64, {7, 0, 4096, 8192, 0, 0}, -ENOSPC),
      call_of(5, 100, 500, 10, __NR_openat, {kCwd, 0, O_RDONLY, 0, 0, 0}, -ENOENT),
      other_kind(CallKind::signal, call_of(6, 100, 600, 0, SIGTERM, {0, 17}, 0)),
      call_of(7, 100, 700, 30, __NR_writev, {7, 0, 2, 0, 0, 12288}, 12288),
      call_of(3, 101, 200, 1000, __NR_read, {7, 0, 4096}, 4096),
      call_of(8, 100, 2000, kUnfinished, __NR_exit_group, {3}, 0),
      other_kind(CallKind::exit, call_of(9, 101, 2100, 0, 0, {}, 3 << 8)),
      other_kind(CallKind::exit, call_of(10, 100, 2200, 0, 1, {}, 3 << 8)),
  };
}

std::vector<FdRecord> some_fds() {
  FdRecord file;
  file.t_ns = kStart + 50 * kUs;
  file.process = 100;
  file.fd = 7;
  file.flags = O_RDWR | 040000;
  file.name = "/brick/a <b>,\"c\"";
  FdRecord path;
  path.t_ns = kStart + 510 * kUs;
  path.process = 100;
  path.sequence = 5;
  path.kind = FdKind::path;
  path.name = "/brick/new\nline";
  return {file, path};
}

CallLogReader log_of(const std::vector<Call>& calls, const std::vector<FdRecord>& fds) {
  auto files = std::make_shared<std::array<std::string, 2>>();
  LogHeader header;
  header.node = "s1";
  header.start_ns = kStart;
  auto sink = [files](LogFile file, std::string_view bytes) -> Status {
    (*files)[file == LogFile::calls ? 0 : 1] += bytes;
    return Ok{};
  };
  CallLogWriter writer(sink, header);
  for (const FdRecord& record : fds) EXPECT_TRUE(writer.add(record).ok());
  for (const Call& call : calls) EXPECT_TRUE(writer.add(call).ok());
  EXPECT_TRUE(writer.close({}).ok());
  auto reader = CallLogReader::from_bytes((*files)[0], (*files)[1], "test");
  CHECK(reader.ok()) << reader.error().message();
  return std::move(reader).value();
}

std::string exported(CallLogReader reader, CallFormat format, const CallExportOptions& options = {}) {
  std::string out;
  auto records = export_calls(
      reader, format,
      [&](std::string_view bytes) -> Status {
        out += bytes;
        return Ok{};
      },
      options);
  EXPECT_TRUE(records.ok());
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  return lines;
}

TEST(CallExport, StraceTextComesBackAsItWas) {
  std::string text = exported(log_of(some_calls(), some_fds()), CallFormat::strace);
  std::vector<Call> calls;
  std::vector<FdRecord> fds;
  StraceSink sink;
  sink.call = [&](const Call& call) -> Status {
    calls.push_back(call);
    return Ok{};
  };
  sink.fd = [&](const FdRecord& record) -> Status {
    fds.push_back(record);
    return Ok{};
  };
  auto report = import_strace_text(text, "test", std::move(sink));
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(calls, some_calls()) << text;
  EXPECT_EQ(fds, some_fds()) << text;
  EXPECT_TRUE(report->notes.empty()) << report->notes.front();
}

TEST(CallExport, StraceTextSplitsWhatOverlaps) {
  auto lines = lines_of(exported(log_of(some_calls(), some_fds()), CallFormat::strace));
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[2], "[pid 101] 1700000000.000200 read(7</brick/a \\074b\\076,\\\"c\\\">, ..., 4096 <unfinished ...>");
  EXPECT_EQ(lines[7], "[pid 101] 1700000000.001200 <... read resumed>) = 4096 <0.001000>");
  EXPECT_EQ(lines[8], "[pid 100] 1700000000.002000 exit_group(3) = ?");
}

TEST(CallExport, TextIsInTheOrderOfTheLog) {
  CallExportOptions options;
  options.text = {.time = false, .thread = true, .names = false, .class_of = false};
  options.keep = [](const Call& call, const FdRecord*) { return call.kind == CallKind::call && call.number <= 20; };
  EXPECT_THAT(lines_of(exported(log_of(some_calls(), some_fds()), CallFormat::text, options)),
              ElementsAre("[pid 100] pwrite64(7, ..., 4096, 8192) = -1 ENOSPC (No space left on device) <0.000100>",
                          "[pid 100] writev(7, [{iov_len=12288}], 2) = 12288 <0.000030>",
                          "[pid 101] read(7, ..., 4096) = 4096 <0.001000>"));
}

TEST(CallExport, FilterSeesTheTarget) {
  CallExportOptions options;
  options.keep = [](const Call&, const FdRecord* target) { return target && target->kind == FdKind::path; };
  auto lines = lines_of(exported(log_of(some_calls(), some_fds()), CallFormat::jsonl, options));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("ENOENT"));
}

TEST(CallExport, CsvQuotesNames) {
  auto lines = lines_of(exported(log_of({some_calls()[2]}, {some_fds()[0]}), CallFormat::csv));
  EXPECT_THAT(lines, ElementsAre("time_s,process,thread,kind,name,fd,class,target,bytes_asked,result,errno,duration_s",
                                 "1700000000.000300000,100,100,call,pwrite64,7,other,\"/brick/a <b>,\"\"c\"\"\",4096,"
                                 "-28,ENOSPC,0.000100000"));
}

TEST(CallExport, JsonLinesHaveAllFields) {
  auto lines = lines_of(exported(log_of(some_calls(), some_fds()), CallFormat::jsonl));
  ASSERT_EQ(lines.size(), some_calls().size());
  auto write = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(write["name"], "pwrite64");
  EXPECT_EQ(write["kind"], "call");
  EXPECT_EQ(write["fd"], 7);
  EXPECT_EQ(write["target"], "/brick/a <b>,\"c\"");
  EXPECT_EQ(write["bytes_asked"], 4096);
  EXPECT_EQ(write["result"], -ENOSPC);
  EXPECT_EQ(write["errno"], "ENOSPC");
  EXPECT_EQ(write["sequence"], 4);
  EXPECT_EQ(write["args"], nlohmann::json::parse("[7,0,4096,8192,0,0]"));
  auto opened = nlohmann::json::parse(lines[3]);
  EXPECT_EQ(opened["target"], "/brick/new\nline");
  EXPECT_TRUE(opened["fd"].is_null());
  auto exit_group = nlohmann::json::parse(lines[7]);
  EXPECT_TRUE(exit_group["result"].is_null());
  EXPECT_TRUE(exit_group["duration_s"].is_null());
  EXPECT_EQ(nlohmann::json::parse(lines[8])["name"], "exited");
}

// Names are bytes; JSON is UTF-8.
TEST(CallExport, JsonSurvivesNamesThatAreNotUtf8) {
  std::vector<FdRecord> fds = some_fds();
  fds[0].name = "/brick/\xff\xfe";
  auto lines = lines_of(exported(log_of({some_calls()[2]}, fds), CallFormat::jsonl));
  EXPECT_FALSE(nlohmann::json::parse(lines.at(0), nullptr, false).is_discarded());
}

TEST(CallExport, PassesOnErrorsOfTheWriter) {
  CallLogReader reader = log_of(some_calls(), some_fds());
  auto records = export_calls(reader, CallFormat::csv, [](std::string_view) -> Status { return input_error("full"); });
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().what, "full");
}

TEST(CallExport, LeavesCompletionsOutOfStraceText) {
  std::vector<Call> calls = {some_calls()[0], other_kind(CallKind::aio, some_calls()[2])};
  EXPECT_THAT(exported(log_of(calls, {}), CallFormat::strace), Not(HasSubstr("aio")));
  EXPECT_THAT(exported(log_of(calls, {}), CallFormat::text), HasSubstr("aio: "));
}

TEST(CallFormats, AreKnownByName) {
  for (const std::string& name : call_format_names()) EXPECT_TRUE(parse_call_format(name).ok()) << name;
  EXPECT_EQ(*parse_call_format("text"), CallFormat::text);
  EXPECT_EQ(*parse_call_format("strace"), CallFormat::strace);
  EXPECT_EQ(*parse_call_format("csv"), CallFormat::csv);
  EXPECT_EQ(*parse_call_format("jsonl"), CallFormat::jsonl);
  EXPECT_EQ(*parse_call_format("perfetto"), CallFormat::perfetto);
  EXPECT_THAT(parse_call_format("cvs").error().hint, HasSubstr("csv"));
}

}  // namespace
}  // namespace culprit
