#include "analyse/flags.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace culprit {

namespace {

size_t span_begin(size_t window, size_t k) {
  return window + 1 >= 2 * k - 1 ? window + 1 - (2 * k - 1) : 0;
}

std::vector<bool> deviating_windows(const PeerTable& table, size_t server, const Threshold& threshold) {
  std::vector<bool> out;
  for (const auto& cells : table.windows) out.push_back(deviates(cells[server], threshold));
  return out;
}

size_t count_true(const std::vector<bool>& flags, size_t from, size_t until) {
  return static_cast<size_t>(std::count(flags.begin() + static_cast<std::ptrdiff_t>(from),
                                        flags.begin() + static_cast<std::ptrdiff_t>(until), true));
}

// In a window that deviates with its distance within the threshold it was the ratio that convicted. Of several the one
// farthest beyond its limit is kept.
void note_ratio(const PeerCell& cell, const Threshold& threshold, Flag& flag) {
  if (cell.distance > threshold.used) return;
  auto beyond = [](double value, double bound) { return value > bound ? value / bound : bound / value; };
  const bool more = cell.above > threshold.above;
  const double ratio = more ? cell.above : cell.below;
  const double limit = more ? threshold.above : threshold.below;
  if (flag.ratio_limit > 0 && !(beyond(ratio, limit) > beyond(flag.ratio, flag.ratio_limit))) return;
  flag.ratio = ratio;
  flag.ratio_limit = limit;
}

// One flag from the flagged windows first..last.
Flag make_flag(const PeerTable& table, size_t server, const Threshold& threshold, const std::vector<bool>& odd,
               size_t first, size_t last, size_t k) {
  const Windows& geometry = table.geometry;
  Flag flag;
  flag.server = server;
  flag.threshold = threshold.used;
  flag.flagged = {geometry.end(first), geometry.end(last) + geometry.shift};
  size_t begin = span_begin(first, k);
  while (!odd[begin]) ++begin;
  flag.onset = {geometry.begin(begin), geometry.end(begin)};
  size_t last_odd = last;  // a flag outlives its windows by up to k-1 of them
  while (!odd[last_odd]) --last_odd;
  flag.open = true;
  for (size_t w = last_odd + 1; w < table.windows.size(); ++w)
    flag.open &= table.windows[w][server].known != Known::yes;
  for (size_t w = begin; w <= last_odd; ++w) {
    const PeerCell& cell = table.windows[w][server];
    if (cell.known == Known::yes) flag.judged.emplace_back(geometry.begin(w), geometry.end(w));
    if (!odd[w]) continue;
    flag.anomalous.emplace_back(geometry.begin(w), geometry.end(w));
    flag.distance = std::max(flag.distance, cell.distance);
    note_ratio(cell, threshold, flag);
    flag.end = geometry.end(w) - geometry.shift;
  }
  return flag;
}

}  // namespace

bool deviates(const PeerCell& cell, const Threshold& threshold) {
  if (cell.known != Known::yes) return false;
  if (cell.distance > threshold.used) return true;
  if (!threshold.weak || threshold.above <= 0) return false;
  return cell.above > threshold.above || cell.below < threshold.below;
}

std::vector<bool> apply_majority_rule(PeerTable& table, const std::vector<Threshold>& thresholds) {
  std::vector<bool> happened;
  for (auto& cells : table.windows) {
    size_t known = 0;
    size_t odd = 0;
    for (size_t i = 0; i < cells.size(); ++i) {
      known += cells[i].known == Known::yes;
      odd += deviates(cells[i], thresholds[i]);
    }
    const bool majority = known > 0 && odd * 2 >= known;
    if (majority)
      for (PeerCell& cell : cells)
        if (cell.known == Known::yes) cell.known = Known::majority;
    happened.push_back(majority);
  }
  return happened;
}

bool majority_persists(const std::vector<bool>& windows, size_t k) {
  for (size_t w = 0; w < windows.size(); ++w)
    if (count_true(windows, span_begin(w, k), w + 1) >= k) return true;
  return false;
}

bool often_active(const PeerTable& table, size_t k) {
  return majority_persists(table.active, k);
}

std::vector<Flag> find_flags(const PeerTable& table, size_t server, const Threshold& threshold, size_t k) {
  std::vector<bool> odd = deviating_windows(table, server, threshold);
  std::vector<Flag> flags;
  for (size_t w = 0; w < odd.size(); ++w) {
    auto flagged = [&](size_t v) { return count_true(odd, span_begin(v, k), v + 1) >= k; };
    if (!flagged(w)) continue;
    const size_t first = w;
    while (w + 1 < odd.size() && flagged(w + 1)) ++w;
    flags.push_back(make_flag(table, server, threshold, odd, first, w, k));
  }
  return flags;
}

size_t deviating_at_the_end(const PeerTable& table, size_t server, const Threshold& threshold) {
  size_t count = 0;
  for (auto cells = table.windows.rbegin(); cells != table.windows.rend() && deviates((*cells)[server], threshold);
       ++cells)
    ++count;
  return count;
}

Coverage coverage(const PeerTable& table, size_t server, size_t k) {
  Coverage out;
  std::vector<bool> unknown;
  for (const auto& cells : table.windows) {
    const Known known = cells[server].known;
    ++out.windows;
    out.idle += known == Known::idle;
    out.missing += known == Known::missing;
    out.majority += known == Known::majority;
    if (known == Known::idle || known == Known::missing) ++out.lacks[static_cast<size_t>(cells[server].lack)];
    unknown.push_back(known != Known::yes);
  }
  for (size_t w = 0; w < unknown.size(); ++w) out.gap |= count_true(unknown, span_begin(w, k), w + 1) > k - 1;
  out.never = out.windows - count_true(unknown, 0, unknown.size()) < k;
  out.gap |= out.never;
  return out;
}

double least_unflagged_distance(const PeerTable& table, size_t server, size_t k) {
  double worst = kMissing;
  for (size_t w = 0; w < table.windows.size(); ++w) {
    std::vector<double> recent;
    for (size_t v = span_begin(w, k); v <= w; ++v) {
      const PeerCell& cell = table.windows[v][server];
      if (cell.known == Known::yes) recent.push_back(cell.distance);
    }
    if (recent.size() < k) continue;
    std::nth_element(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(k - 1), recent.end(),
                     std::greater<>());
    if (!(recent[k - 1] <= worst)) worst = recent[k - 1];
  }
  return worst;
}

double round_up_to_step(double distance, double step) {
  double n = std::max(1.0, std::floor(distance / step) - 1);  // start below: the division may round either way
  while (n * step < distance) ++n;
  return n * step;
}

}  // namespace culprit
