#include "capture/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace culprit {
namespace {

using testing::HasSubstr;

TEST(BackendTest, TheTableIsWellFormed) {
  std::set<std::string_view> names;
  for (const BackendInfo* backend : capture_backends()) {
    EXPECT_TRUE(names.insert(backend->name).second) << backend->name;
    EXPECT_FALSE(backend->summary.empty()) << backend->name;
    ASSERT_NE(backend->check, nullptr) << backend->name;
    ASSERT_NE(backend->make, nullptr) << backend->name;
    EXPECT_NE(backend->make(), nullptr) << backend->name;
  }
  EXPECT_TRUE(names.contains("ptrace"));
  EXPECT_TRUE(names.contains("null"));
}

TEST(BackendTest, ByName) {
  auto ptrace = find_backend("ptrace");
  ASSERT_TRUE(ptrace);
  EXPECT_EQ((*ptrace)->name, "ptrace");
  auto slip = find_backend("prtace");
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().kind, ErrorKind::usage);
  EXPECT_THAT(slip.error().hint, HasSubstr("ptrace"));
  auto nothing_like_it = find_backend("dtrace-of-another-world");
  ASSERT_FALSE(nothing_like_it);
  EXPECT_THAT(nothing_like_it.error().hint, HasSubstr("null"));
}

TEST(BackendTest, TheBestIsNeverTheOneThatSeesNothing) {
  std::string why;
  auto best = best_backend(why);
  if (!best) GTEST_SKIP() << best.error().message();
  EXPECT_NE((*best)->name, "null");
  EXPECT_EQ(why.empty(), (*best)->name == "ebpf") << why;
}

}  // namespace
}  // namespace culprit
