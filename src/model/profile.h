// What training learned: thresholds per metric and server, and the parameters they were learned with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace culprit {

constexpr int kProfileVersion = 1;

struct Profile {
  int version = kProfileVersion;
  std::string detector;
  std::map<std::string, double> parameters;
  int64_t interval_ns = 0;
  std::vector<std::string> runs;  // names of the runs it was trained on
  bool simulated = false;         // one of them was simulated
  // metric -> server ("*": one that was not there in training) -> name -> number
  std::map<std::string, std::map<std::string, std::map<std::string, double>>> thresholds;
};

}  // namespace culprit
