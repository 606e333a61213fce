#include "base/units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace culprit {

namespace {

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr Suffix kDurations[] = {{"ns", 1},     {"us", 1e3},   {"ms", 1e6},    {"s", 1e9}, {"m", 60e9},
                                 {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"", 1e9}};
constexpr Suffix kSizes[] = {
    {"B", 1},           {"kB", 1e3},           {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"KiB", 1024},
    {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"k", 1e3},  {"M", 1e6},  {"G", 1e9},  {"", 1}};
constexpr Suffix kRates[] = {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}};

template <size_t N>
Result<int64_t> parse_with_suffix(std::string_view text, const Suffix (&suffixes)[N], std::string_view noun,
                                  std::string_view example) {
  size_t end = text.find_first_not_of("0123456789.");
  std::string_view digits = text.substr(0, end);
  std::string_view unit = end == std::string_view::npos ? "" : text.substr(end);
  auto number = parse_double(digits);
  for (const Suffix& suffix : suffixes) {
    if (!number || suffix.text != unit) continue;
    double value = *number * suffix.factor;
    if (value > 9e18) break;
    return static_cast<int64_t>(std::llround(value));
  }
  return usage_error(cat("'", printable(text), "' is not a ", noun), cat("write it like ", example));
}

// Days since 1970-01-01 of a date of the Gregorian calendar.
int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
  std::tm tm{};
  tm.tm_year = static_cast<int>(year - 1900);
  tm.tm_mon = static_cast<int>(month - 1);
  tm.tm_mday = static_cast<int>(day);
  return timegm(&tm) / 86400;
}

bool take_digits(std::string_view& text, size_t count, int64_t& out) {
  if (text.size() < count) return false;
  auto value = parse_int(text.substr(0, count));
  if (!value || *value < 0) return false;
  out = *value;
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The fraction ".250" in ns; absent is 0.
int64_t take_fraction(std::string_view& text) {
  if (!take(text, ".")) return 0;
  int64_t ns = 0;
  int64_t weight = 100'000'000;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    ns += (text[0] - '0') * weight;
    weight /= 10;
    text.remove_prefix(1);
  }
  return ns;
}

// "" Z +hh:mm +hhmm -> minutes east of UTC.
bool take_zone(std::string_view& text, int64_t& minutes) {
  minutes = 0;
  if (text.empty() || take(text, "Zz")) return true;
  int64_t sign = text[0] == '-' ? -1 : 1;
  int64_t hour = 0, minute = 0;
  if (!take(text, "+-") || !take_digits(text, 2, hour)) return false;
  take(text, ":");
  if (!text.empty() && !take_digits(text, 2, minute)) return false;
  minutes = sign * (hour * 60 + minute);
  return true;
}

bool parse_iso(std::string_view text, int64_t& out) {
  int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zone = 0;
  if (!take_digits(text, 4, year) || !take(text, "-/") || !take_digits(text, 2, month) || !take(text, "-/") ||
      !take_digits(text, 2, day))
    return false;
  if (!take(text, "T ") || !take_digits(text, 2, hour) || !take(text, ":") || !take_digits(text, 2, minute))
    return false;
  if (take(text, ":") && !take_digits(text, 2, second)) return false;
  int64_t fraction = take_fraction(text);
  if (!take_zone(text, zone) || !text.empty()) return false;
  if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
      second > 60)
    return false;
  out =
      (((days_from_civil(year, month, day) * 24 + hour) * 60 + minute - zone) * 60 + second) * kNsPerSecond + fraction;
  return true;
}

}  // namespace

Result<int64_t> parse_duration(std::string_view text) {
  return parse_with_suffix(text, kDurations, "duration", "100ms, 60s or 5m");
}

Result<int64_t> parse_bytes(std::string_view text) {
  return parse_with_suffix(text, kSizes, "size", "500MB or 2GiB");
}

Result<int64_t> parse_bits(std::string_view text) {
  return parse_with_suffix(text, kRates, "rate", "160Mbit or 1Gbit");
}

std::string format_duration(int64_t ns) {
  if (ns < 0) return "-" + format_duration(ns == INT64_MIN ? INT64_MAX : -ns);
  char text[64];
  if (ns < kNsPerMs)
    std::snprintf(text, sizeof text, "%gus", static_cast<double>(ns) / 1e3);
  else if (ns < kNsPerSecond)
    std::snprintf(text, sizeof text, "%gms", static_cast<double>(ns / 100'000) / 10);  // NOLINT: cut, not rounded
  else if (ns < 120 * kNsPerSecond)
    std::snprintf(text, sizeof text, "%gs", static_cast<double>(ns / (100 * kNsPerMs)) / 10);  // NOLINT: cut as well
  else if (ns < 7200 * kNsPerSecond)
    std::snprintf(text, sizeof text, "%dm %ds", static_cast<int>(ns / (60 * kNsPerSecond)),
                  static_cast<int>(ns / kNsPerSecond % 60));
  else
    std::snprintf(text, sizeof text, "%dh %dm", static_cast<int>(ns / (3600 * kNsPerSecond)),
                  static_cast<int>(ns / (60 * kNsPerSecond) % 60));
  return text;
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::fabs(value) >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string format_time(int64_t wall_ns) {
  int64_t seconds = wall_ns / kNsPerSecond;
  int64_t rest = wall_ns % kNsPerSecond;
  if (rest < 0) {
    rest += kNsPerSecond;
    --seconds;
  }
  std::time_t time = seconds;
  std::tm tm{};
  gmtime_r(&time, &tm);
  char text[96];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(rest / kNsPerMs));
  return text;
}

Result<int64_t> parse_time(std::string_view text) {
  int64_t ns = 0;
  if (parse_iso(text, ns)) return ns;
  if (auto seconds = parse_double(text); seconds && *seconds >= 0 && *seconds < 7.2e9) {  // until the year 2198
    int64_t whole = static_cast<int64_t>(*seconds);
    size_t dot = text.find('.');
    std::string_view fraction = dot == std::string_view::npos ? "" : text.substr(dot);
    return whole * kNsPerSecond + take_fraction(fraction);
  }
  return usage_error(cat("'", printable(text), "' is not a time"),
                     "write it like 2026-11-15T22:40:01Z or as seconds since 1970");
}

}  // namespace culprit
