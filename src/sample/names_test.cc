// A lint over all columns: names say their unit, so that nobody needs to ask what a number means.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "sample/collector.h"

namespace culprit {
namespace {

bool is_snake_case(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || name.back() == '_') return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return name.find("__") == std::string_view::npos;
}

bool mentions(std::string_view help, std::string_view word) {
  for (std::string_view part : split(help, ' '))
    if (part == word || part == cat(word, ",")) return true;
  return false;
}

TEST(Names, EveryColumnIsSnakeCaseUniqueAndExplained) {
  for (const Source* source : standard_sources()) {
    EXPECT_TRUE(is_snake_case(source->name)) << source->name;
    std::set<std::string_view> seen;
    for (const Column& column : source->columns) {
      EXPECT_TRUE(is_snake_case(column.name)) << column.name;
      EXPECT_TRUE(seen.insert(column.name).second) << column.name;
      EXPECT_FALSE(column.help.empty()) << column.name;
      EXPECT_NE(column.help.back(), '.') << column.name;
    }
  }
}

TEST(Names, TimesAndBytesCarryTheirUnit) {
  for (const Source* source : standard_sources()) {
    for (const Column& column : source->columns) {
      std::string_view name = column.name;
      bool has_time_unit = name.ends_with("_ms") || name.ends_with("_us") || name.ends_with("_ns");
      bool has_byte_unit =
          name.find("bytes") != std::string_view::npos || name.find("sectors") != std::string_view::npos;
      if (mentions(column.help, "time")) {
        EXPECT_TRUE(has_time_unit) << name << ": " << column.help;
      }
      if (mentions(column.help, "bytes") || mentions(column.help, "memory")) {
        EXPECT_TRUE(has_byte_unit || has_time_unit) << name << ": " << column.help;
      }
    }
  }
}

TEST(Names, EveryCollectorHasItsOwnStandardSource) {
  std::set<const Source*> used;
  for (const CollectorInfo* info : sample_collectors()) {
    EXPECT_TRUE(is_snake_case(info->name));
    EXPECT_TRUE(used.insert(info->source).second) << info->name;
    EXPECT_EQ(find_source(info->source->name), info->source);
  }
  EXPECT_EQ(used.size(), standard_sources().size());
}

}  // namespace
}  // namespace culprit
