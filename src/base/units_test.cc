#include "base/units.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(Units, Durations) {
  EXPECT_EQ(parse_duration("100ms").value(), 100 * kNsPerMs);
  EXPECT_EQ(parse_duration("60s").value(), 60 * kNsPerSecond);
  EXPECT_EQ(parse_duration("1.5").value(), 1'500'000'000);
  EXPECT_EQ(parse_duration("5m").value(), 300 * kNsPerSecond);
  EXPECT_EQ(parse_duration("2h").value(), 7200 * kNsPerSecond);
  EXPECT_EQ(parse_duration("250us").value(), 250'000);
  for (const char* wrong : {"", "s", "-1s", "1 s", "1parsec", "1..5s", "99999999999d", "1e3s", "nan"}) {
    Result<int64_t> ns = parse_duration(wrong);
    ASSERT_FALSE(ns) << wrong;
    EXPECT_EQ(ns.error().kind, ErrorKind::usage);
    EXPECT_FALSE(ns.error().hint.empty());
  }
}

TEST(Units, Sizes) {
  EXPECT_EQ(parse_bytes("200MB").value(), 200'000'000);
  EXPECT_EQ(parse_bytes("2GiB").value(), int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1.5k").value(), 1500);
  EXPECT_EQ(parse_bytes("7").value(), 7);
  for (const char* wrong : {"", "MB", "-1", "1 MB", "1XB", "99999999999TB"}) EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(Units, FormattedForPeople) {
  EXPECT_EQ(format_duration(0), "0us");
  EXPECT_EQ(format_duration(100 * kNsPerMs), "100ms");
  EXPECT_EQ(format_duration(90 * kNsPerSecond), "90s");
  EXPECT_EQ(format_duration(150 * kNsPerSecond), "2m 30s");
  EXPECT_EQ(format_duration(7260 * kNsPerSecond), "2h 1m");
  EXPECT_EQ(format_duration(-90 * kNsPerSecond), "-90s");
  EXPECT_EQ(format_duration(INT64_MIN)[0], '-');
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(3'200'000), "3.2 MB");
  EXPECT_EQ(format_bytes(-3'200'000), "-3.2 MB");
}

TEST(Units, TimesComeBack) {
  int64_t ns = parse_time("2026-11-15T22:40:01.250Z").value();
  EXPECT_EQ(format_time(ns), "2026-11-15T22:40:01.250Z");
  EXPECT_EQ(parse_time("2026-11-15 22:40:01.250").value(), ns);
  EXPECT_EQ(parse_time("2026-11-15T23:40:01.250+01:00").value(), ns);
  EXPECT_EQ(parse_time("2026-11-15T21:40:01.250-0100").value(), ns);
  EXPECT_EQ(parse_time("2026-11-15T22:40").value(), ns - 1'250'000'000);
  EXPECT_EQ(parse_time("86400.5").value(), 86'400'500'000'000);
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59.999Z");
}

TEST(Units, WrongTimesAreRefused) {
  for (const char* wrong : {"", "now", "2026-13-01T00:00:00Z", "2026-11-15", "2026-11-15T25:00:00", "-1", "1e300",
                            "2026-11-15T22:40:01Zjunk", "2026-11-15T22:40:01+1"}) {
    EXPECT_FALSE(parse_time(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace culprit
