#include "analyse/peers.h"

#include <algorithm>
#include <functional>

namespace culprit {

namespace {

using Values = std::vector<double>;

Values values_in(const Series& series, size_t from, size_t until) {
  Values out;
  for (size_t t = from; t < until; ++t)
    if (!is_missing(series[t])) out.push_back(series[t]);
  return out;
}

size_t sampled_in(const std::vector<bool>& sampled, size_t from, size_t until) {
  return static_cast<size_t>(std::count(sampled.begin() + static_cast<std::ptrdiff_t>(from),
                                        sampled.begin() + static_cast<std::ptrdiff_t>(until), true));
}

// The (h+1)-th largest of the others' distances: more than half of them are at least this far.
double majority_distance(const Distances& distances, size_t i) {
  std::vector<double> others;
  others.reserve(distances.size() - 1);
  for (size_t j = 0; j < distances.size(); ++j)
    if (j != i) others.push_back(distances.at(i, j));
  auto nth = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), nth, others.end(), std::greater<>());
  return *nth;
}

// Ratios of medians towards the majority of the others; `floor` keeps idle servers from dividing by nothing.
void fill_ratios(const std::vector<Values>& columns, const std::vector<size_t>& who, double floor,
                 std::vector<PeerCell>& cells) {
  std::vector<double> medians;
  for (const Values& column : columns) medians.push_back(median_of(column) + floor);
  std::vector<double> sorted = medians;
  std::sort(sorted.begin(), sorted.end());
  const size_t others = sorted.size() - 1;
  for (size_t i = 0; i < who.size(); ++i) {
    // The (h+1)-th smallest and largest of the others.
    const OthersSorted other(sorted, medians[i]);
    const double low = other[others / 2];
    const double high = other[others - 1 - others / 2];
    cells[who[i]].above = low > 0 ? medians[i] / low : 1;
    cells[who[i]].below = high > 0 ? medians[i] / high : 1;
  }
}

}  // namespace

bool PeerTable::ever_active() const {
  return std::find(active.begin(), active.end(), true) != active.end();
}

PeerTable compare_peers(const SeriesSet& series, Metric metric, const PeerOptions& options) {
  PeerTable table{options.windows, series.servers.size(), {}, {}};
  std::vector<Series> smooth;
  for (const Series& raw : series.of(metric))
    smooth.push_back(trailing_average(raw, options.average_span, options.average_least));

  for (size_t w = 0; w < options.windows.count(series.ticks); ++w) {
    const size_t from = options.windows.begin(w);
    const size_t until = options.windows.end(w);
    std::vector<PeerCell> cells(table.servers);
    std::vector<Values> columns;
    std::vector<size_t> who;
    bool any_missing = false;
    for (size_t i = 0; i < table.servers; ++i) {
      Values column = values_in(smooth[i], from, until);
      if (column.size() >= options.least_values) {
        who.push_back(i);
        columns.push_back(std::move(column));
        continue;
      }
      // Rates of an idle server are 0; only a latency is absent when nothing happens.
      bool heard = metric == Metric::await && sampled_in(series.sampled[i], from, until) >= options.least_values;
      cells[i].known = heard ? Known::idle : Known::missing;
      any_missing |= !heard;
    }
    bool active = false;
    if (who.size() >= options.least_servers) {
      Distances distances = all_distances(columns, options.binning, active);
      for (size_t k = 0; k < who.size(); ++k) {
        cells[who[k]].known = Known::yes;
        cells[who[k]].distance = majority_distance(distances, k);
      }
      if (active) fill_ratios(columns, who, options.binning.floor, cells);
    } else {
      for (size_t i : who) cells[i].known = any_missing ? Known::missing : Known::idle;
    }
    table.windows.push_back(std::move(cells));
    table.active.push_back(active);
  }
  return table;
}

}  // namespace culprit
