#include "capture/call_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace culprit {
namespace {

using testing::HasSubstr;

bool has(const CallSet& set, std::string_view name) {
  const Syscall* call = find_syscall(name);
  EXPECT_NE(call, nullptr) << name;
  return call && set.test(static_cast<size_t>(call->number));
}

TEST(CallSetsTest, AllIsAll) {
  auto set = parse_call_set("all");
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->all());
}

TEST(CallSetsTest, IoHasWhatTheDiagnosisNeeds) {
  auto set = parse_call_set("io");
  ASSERT_TRUE(set);
  for (const char* name : {"openat", "pwrite64", "fsync", "recvmsg", "connect", "close", "execve", "mmap", "io_submit"})
    EXPECT_TRUE(has(*set, name)) << name;
  for (const char* name : {"clock_gettime", "munmap", "rt_sigprocmask"}) EXPECT_FALSE(has(*set, name)) << name;
}

TEST(CallSetsTest, SetsAreSmallerThanAllAndNotEmpty) {
  for (const CallSetInfo& info : call_sets()) {
    auto set = parse_call_set(info.name);
    ASSERT_TRUE(set) << info.name;
    EXPECT_TRUE(set->any()) << info.name;
    EXPECT_EQ(set->all(), info.name == "all") << info.name;
  }
}

TEST(CallSetsTest, NamesAndSetsMix) {
  auto set = parse_call_set("openat, network");
  ASSERT_TRUE(set);
  EXPECT_TRUE(has(*set, "openat"));
  EXPECT_TRUE(has(*set, "connect"));
  EXPECT_FALSE(has(*set, "execve"));
}

TEST(CallSetsTest, BadWordsGetOneSentenceAndAHint) {
  auto slip = parse_call_set("opnat");
  ASSERT_FALSE(slip);
  EXPECT_THAT(slip.error().what, HasSubstr("'opnat'"));
  EXPECT_THAT(slip.error().hint, HasSubstr("openat"));
  EXPECT_EQ(slip.error().kind, ErrorKind::usage);
  for (const std::string& text : {std::string(), std::string(" "), std::string("read,,write"), std::string("read,"),
                                  std::string(20000, 'x'), std::string("no_such_thing_at_all")})
    EXPECT_FALSE(parse_call_set(text)) << text.substr(0, 40);
}

}  // namespace
}  // namespace culprit
