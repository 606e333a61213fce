// What the FAST'10 paper reports (section 11, Tables 2 to 5), to be printed beside what we measure. Per cent of 50 runs
// for each fault: five workloads, ten iterations.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct PaperRow {
  std::string_view fault;  // as culprit calls it
  double itp = 0;
  double ifp = 0;
  double dtp = 0;
  double dfp = 0;
};

struct PaperTable {
  std::string_view name;    // file system and clients/servers: "PVFS 10/10"
  std::string_view source;  // "Table 2"
  std::array<PaperRow, 7> rows;
  PaperRow aggregate;
};

constexpr int kPaperRuns = 50;  // of each row

std::span<const PaperTable> paper_tables();
// "none" and the six faults, in the order of the tables.
const std::vector<std::string>& paper_faults();

}  // namespace culprit
