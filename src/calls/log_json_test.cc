#include "calls/log_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LogHeader full_header() {
  LogHeader header;
  header.node = "s1";
  header.backend = "ebpf";
  header.tool = "culprit 0.1.0";
  header.kernel = "6.18.0";
  header.what = "glusterfsd 4711";
  header.start_ns = 1'700'000'000'000'000'001;
  header.calls = "pwrite64,fsync";
  header.sums = true;
  header.hashed = true;
  header.around.server = false;
  header.around.storage = {"/brick", "/data/\"b2\""};
  header.around.devices = {UINT64_MAX, 0};
  header.around.data_ports = {{49152, 49160}, {24007, 24007}};
  header.around.peers = {
      {"s1", "10.0.0.1", NodeKind::server}, {"c1", "", NodeKind::client}, {"x1", "fd00::1", NodeKind::other}};
  return header;
}

TEST(LogJson, AHeaderComesBack) {
  LogHeader header = full_header();
  auto back = parse_log_header(format_log_header(header), "x");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(format_log_header(*back), format_log_header(header));
  EXPECT_EQ(back->start_ns, header.start_ns);
  EXPECT_EQ(back->calls, header.calls);
  EXPECT_EQ(back->around.peers, header.around.peers);
  EXPECT_EQ(back->around.devices, header.around.devices);
  EXPECT_EQ(back->around.storage, header.around.storage);
  ASSERT_EQ(back->around.data_ports.size(), 2u);
  EXPECT_EQ(back->around.data_ports[0].last, 49160);
  EXPECT_TRUE(back->sums && back->hashed && !back->around.server);
}

TEST(LogJson, AnEndComesBack) {
  LogEnd end;
  end.end_ns = 7;
  end.calls = 3;
  end.fds = 2;
  end.lost = {0, 41, 1};
  end.unseen = 5;
  end.stopped = "asked";
  end.notes = {"one", "two"};
  auto back = parse_log_end(format_log_end(end), "x");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(format_log_end(*back), format_log_end(end));
  EXPECT_EQ(back->all_lost(), 42);
  EXPECT_THAT(back->notes, ElementsAre("one", "two"));
}

TEST(LogJson, ALaterVersionIsRefusedWithAHint) {
  auto refused = parse_log_header(R"({"version": 2, "around": 7})", "s1.sclog");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().what, "s1.sclog has version 2, this culprit reads up to 1");
  EXPECT_THAT(refused.error().hint, HasSubstr("newer"));
}

TEST(LogJson, UnknownMembersAreIgnoredAndMissingOnesKeepTheirDefaults) {
  auto header = parse_log_header(R"({"version": 1, "weather": "rain"})", "x");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->machine, "x86_64");
  EXPECT_TRUE(header->around.server);
}

TEST(LogJson, WrongTypesAreErrors) {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"version": "1"})", R"({"version": 0})", R"({"version": 1, "node": 7})",
        R"({"version": 1, "start_ns": 1.5})", R"({"version": 1, "start_ns": 18446744073709551615})",
        R"({"version": 1, "sums": 1})", R"({"version": 1, "around": []})",
        R"({"version": 1, "around": {"storage": [1]}})", R"({"version": 1, "around": {"devices": [-1]}})",
        R"({"version": 1, "around": {"data_ports": [[1]]}})",
        R"({"version": 1, "around": {"data_ports": [[1, 65536]]}})",
        R"({"version": 1, "around": {"peers": [["a", "b"]]}})",
        R"({"version": 1, "around": {"peers": [["a", "b", 3]]}})"})
    EXPECT_FALSE(parse_log_header(text, "x")) << text;
  for (const char* text : {"", "[]", R"({"lost": 1})", R"({"lost": ["a"]})", R"({"notes": [1]})", R"({"calls": "1"})"})
    EXPECT_FALSE(parse_log_end(text, "x")) << text;
}

TEST(LogJson, DeepNestingIsOnlyAnError) {
  EXPECT_FALSE(parse_log_header(std::string(1 << 20, '['), "x"));
}

}  // namespace
}  // namespace culprit
