// What counts as nothing in a metric, and whether anything happened at all. Shared by the detectors, whose parameters
// floor_sectors, floor_await and floor_bytes say it.
#pragma once

#include "analyse/detector.h"

namespace culprit {

bool is_cwnd(Metric metric);
double floor_of(Metric metric, const Parameters& parameters);  // 0 for cwnd

// Whether any server moved data for a while: of an idle file system nobody can say that it is healthy. Asked for are
// least_values ticks (at most half a window) of one server and one rate whose moving average reaches the floor.
bool any_activity(const SeriesSet& series, const Parameters& parameters);

}  // namespace culprit
