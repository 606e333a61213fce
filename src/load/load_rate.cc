#include "load/load_rate.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace culprit {

namespace {

constexpr int64_t kShortest = 10 * kNsPerMs;  // finer than the sleep of a busy machine is exact
constexpr int64_t kLongest = 86400 * kNsPerSecond;
constexpr int64_t kMostBehind = kNsPerSecond;
constexpr std::string_view kHint = "write it like 20MB, ramp:5MB-20MB/10s, gaps:3s-2s or gaps:3s-2s,10MB";

Error not_a_rate(std::string_view text) {
  return usage_error(cat("'", printable(text), "' is not a rate"), std::string(kHint));
}

// "A<mark>B", both of them there.
bool cut(std::string_view text, char mark, std::string_view& left, std::string_view& right) {
  size_t at = text.find(mark);
  if (at == std::string_view::npos) return false;
  right = text.substr(at + 1);
  left = text.substr(0, at);
  return true;
}

bool read_duration(std::string_view text, int64_t& out) {
  auto ns = parse_duration(text);
  if (!ns || *ns < kShortest || *ns > kLongest) return false;
  out = *ns;
  return true;
}

bool read_pace(std::string_view text, int64_t& out) {
  auto bytes = parse_bytes(text);
  if (!bytes || *bytes <= 0) return false;
  out = *bytes;
  return true;
}

bool set_constant(LoadRate& rate, std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  if (rate.high_bytes != 0 || !read_pace(text, rate.low_bytes)) return false;
  rate.high_bytes = rate.low_bytes;
  return true;
}

bool set_ramp(LoadRate& rate, std::string_view text) {
  std::string_view paces, period, low, high;
  if (rate.high_bytes != 0 || !cut(text, '/', paces, period) || !cut(paces, '-', low, high)) return false;
  return read_pace(low, rate.low_bytes) && read_pace(high, rate.high_bytes) && rate.low_bytes <= rate.high_bytes &&
         read_duration(period, rate.period_ns);
}

bool set_gaps(LoadRate& rate, std::string_view text) {
  std::string_view busy, idle;
  return rate.idle_ns == 0 && cut(text, '-', busy, idle) && read_duration(busy, rate.busy_ns) &&
         read_duration(idle, rate.idle_ns);
}

struct Shape {
  std::string_view prefix;
  bool (*set)(LoadRate& rate, std::string_view text);
};

constexpr Shape kShapes[] = {{"ramp:", set_ramp}, {"gaps:", set_gaps}, {"", set_constant}};

// Busy time until a time of the clock, and back: the end of a busy time comes back as the start of the next one.
int64_t busy_time(const LoadRate& rate, int64_t ns) {
  if (rate.idle_ns == 0) return ns;
  int64_t cycle = rate.busy_ns + rate.idle_ns;
  return ns / cycle * rate.busy_ns + std::min(ns % cycle, rate.busy_ns);
}

int64_t clock_time(const LoadRate& rate, int64_t busy) {
  if (rate.idle_ns == 0) return busy;
  return busy / rate.busy_ns * (rate.busy_ns + rate.idle_ns) + busy % rate.busy_ns;
}

// The triangle in seconds: a whole one carries `cycle` bytes; its second half is the first one mirrored.
struct Triangle {
  double low, rise, half, cycle;

  explicit Triangle(const LoadRate& rate)
      : low(static_cast<double>(rate.low_bytes)),
        rise(static_cast<double>(rate.high_bytes - rate.low_bytes)),
        half(static_cast<double>(rate.period_ns) / 2e9),
        cycle((2 * low + rise) * half) {}

  double bytes_in_first_half(double s) const { return low * s + rise * s * s / (2 * half); }
  // The solution of the quadratic equation in the form that also holds when nothing rises.
  double seconds_in_first_half(double bytes) const {
    return 2 * bytes / (low + std::sqrt(low * low + 2 * rise * bytes / half));
  }
  double bytes_at(double seconds) const {
    double cycles = std::floor(seconds / (2 * half));
    double rest = seconds - cycles * 2 * half;
    return cycles * cycle + (rest <= half ? bytes_in_first_half(rest) : cycle - bytes_in_first_half(2 * half - rest));
  }
  double seconds_for(double bytes) const {
    double cycles = std::floor(bytes / cycle);
    double rest = bytes - cycles * cycle;
    double within = rest <= cycle / 2 ? seconds_in_first_half(rest) : 2 * half - seconds_in_first_half(cycle - rest);
    return cycles * 2 * half + within;
  }
};

}  // namespace

Result<LoadRate> parse_load_rate(std::string_view text) {
  LoadRate rate;
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    for (const Shape& shape : kShapes) {
      if (!part.starts_with(shape.prefix)) continue;
      if (!shape.set(rate, part.substr(shape.prefix.size()))) return not_a_rate(text);
      break;
    }
  }
  return rate;
}

double allowed_bytes(const LoadRate& rate, int64_t ns) {
  return Triangle(rate).bytes_at(static_cast<double>(busy_time(rate, ns)) / 1e9);
}

int64_t next_turn_ns(const LoadRate& rate, double bytes, int64_t now_ns) {
  int64_t busy = busy_time(rate, now_ns);
  if (rate.high_bytes > 0)
    busy = std::max(busy, static_cast<int64_t>(std::llround(Triangle(rate).seconds_for(bytes) * 1e9)));
  return clock_time(rate, busy);
}

int64_t LoadPacer::next_ns(int64_t now_ns) {
  int64_t late = busy_time(rate_, now_ns) - kMostBehind;
  if (rate_.high_bytes > 0 && late > 0)
    bytes_ = std::max(bytes_, Triangle(rate_).bytes_at(static_cast<double>(late) / 1e9));
  return next_turn_ns(rate_, bytes_, now_ns);
}

}  // namespace culprit
