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

// What a window holds of one metric: the values of those that have enough.
struct Columns {
  std::vector<Values> values;
  std::vector<size_t> who;
  bool any_missing = false;
};

Columns columns_of(const SeriesSet& series, Metric metric, const std::vector<Series>& smooth, size_t window,
                   const PeerOptions& options, std::vector<PeerCell>& cells) {
  const size_t from = options.windows.begin(window);
  const size_t until = options.windows.end(window);
  Columns out;
  for (size_t i = 0; i < cells.size(); ++i) {
    Values column = values_in(smooth[i], from, until);
    if (column.size() >= options.least_values) {
      out.who.push_back(i);
      out.values.push_back(std::move(column));
      continue;
    }
    // Rates of an idle server are 0; only a latency is absent when nothing happens.
    const bool heard = metric == Metric::await && sampled_in(series.sampled[i], from, until) >= options.least_values;
    const bool some = !column.empty() || !values_in(series.of(metric)[i], from, until).empty();
    cells[i].known = heard ? Known::idle : Known::missing;
    cells[i].lack = some ? Lack::values : heard ? Lack::work : Lack::data;
    out.any_missing |= !heard;
  }
  return out;
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
    std::vector<PeerCell> cells(table.servers);
    const Columns columns = columns_of(series, metric, smooth, w, options, cells);
    bool active = false;
    if (columns.who.size() >= options.least_servers) {
      Distances distances = all_distances(columns.values, options.binning, active);
      for (size_t k = 0; k < columns.who.size(); ++k) {
        cells[columns.who[k]].known = Known::yes;
        cells[columns.who[k]].distance = majority_distance(distances, k);
      }
      if (active) fill_ratios(columns.values, columns.who, options.binning.floor, cells);
    } else {
      for (size_t i : columns.who) {
        cells[i].known = columns.any_missing ? Known::missing : Known::idle;
        cells[i].lack = Lack::servers;
      }
    }
    table.windows.push_back(std::move(cells));
    table.active.push_back(active);
  }
  return table;
}

}  // namespace culprit
