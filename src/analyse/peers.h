// Compares every server with its peers in one metric, window by window (FAST'10, 10.1; rules 3 to 6 and 8).
// What comes out is enough for training and for diagnosis: "more than half of the others are farther than T" is the
// same as "the (h+1)-th largest distance is above T", h = half of the others rounded down. So one number per server
// and window answers for every threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "analyse/histogram.h"
#include "analyse/series.h"
#include "analyse/windows.h"

namespace culprit {

struct PeerOptions {
  size_t average_span = 5;
  size_t average_least = 3;
  Windows windows;
  size_t least_values = 24;
  size_t least_servers = 3;  // of two nobody can say which one is odd
  Binning binning;
};

enum class Known : uint8_t {
  yes,
  idle,      // heard of, but there was too little to measure (a disk without requests has no await)
  missing,   // not heard of, or fewer than three servers to compare because others were not
  majority,  // half of the servers or more deviate: nobody can say who is right (set by the judge, rule 8)
};

// Why a server is idle or missing in a window, for the reader; the verdict asks Known only.
enum class Lack : uint8_t {
  data,     // there is none
  servers,  // it has enough values, but fewer than three servers do
  values,   // it has some, but fewer than a window needs
  work,     // heard of, but nothing happened that could be measured
};
constexpr size_t kLacks = 4;

struct PeerCell {
  Known known = Known::missing;
  double distance = 0;  // more than half of the others are at least this far
  double above = 1;     // its median is at least this many times that of more than half of the others
  double below = 1;     // its median is at most this many times that of more than half of the others
  Lack lack = Lack::data;
};

struct PeerTable {
  Windows geometry;
  size_t servers = 0;
  std::vector<std::vector<PeerCell>> windows;  // [window][server]
  std::vector<bool> active;                    // [window]: the pooled range reached the floor
  bool ever_active() const;
};

PeerTable compare_peers(const SeriesSet& series, Metric metric, const PeerOptions& options);

}  // namespace culprit
