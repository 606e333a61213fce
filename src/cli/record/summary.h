// What a recording saw, in a line or two per node: its busiest disk and NIC on average. From the samples as they pass.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/sample.h"

namespace culprit {

class NodeSummary {
 public:
  void restart() { keys_.clear(); }  // the node numbers its keys anew; what was summed stays
  void add(const Sample& sample);
  // "busiest disk sda: 1.2 MB/s read, 0.3 MB/s written, 12 % busy"; no line for what was not seen.
  std::vector<std::string> lines() const;

 private:
  struct Key {
    const Source* source = nullptr;
    std::string name;
    std::vector<int64_t> last;
  };
  void add_row(Key& key, std::span<const int64_t> row);
  std::string disk_line(double seconds) const;
  std::string nic_line(double seconds) const;

  std::map<uint32_t, Key> keys_;
  std::map<std::string, std::vector<int64_t>> disks_, nics_;  // by name: the sum of each column's differences
  int64_t first_mono_ns_ = 0;
  int64_t last_mono_ns_ = 0;
};

}  // namespace culprit
