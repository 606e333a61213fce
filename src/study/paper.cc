#include "study/paper.h"

namespace culprit {

namespace {

constexpr PaperTable kTables[] = {
    {"PVFS 10/10",
     "Table 2",
     {{{"none", 0, 0, 0, 0},
       {"disk_hog", 100, 0, 100, 0},
       {"disk_busy", 90, 2, 90, 2},
       {"write_network_hog", 92, 0, 84, 8},
       {"read_network_hog", 100, 0, 100, 0},
       {"receive_pktloss", 42, 0, 42, 0},
       {"send_pktloss", 40, 0, 40, 0}}},
     {"aggregate", 77.3, 0.3, 76.0, 1.4}},
    {"PVFS 6/12",
     "Table 3",
     {{{"none", 0, 2, 0, 2},
       {"disk_hog", 100, 0, 100, 0},
       {"disk_busy", 100, 0, 100, 0},
       {"write_network_hog", 42, 2, 0, 44},
       {"read_network_hog", 0, 2, 0, 2},
       {"receive_pktloss", 54, 6, 54, 6},
       {"send_pktloss", 40, 2, 40, 2}}},
     {"aggregate", 56.0, 2.0, 49.0, 8.0}},
    {"Lustre 10/10",
     "Table 4",
     {{{"none", 0, 0, 0, 0},
       {"disk_hog", 82, 0, 82, 0},
       {"disk_busy", 88, 2, 68, 22},
       {"write_network_hog", 98, 2, 96, 4},
       {"read_network_hog", 98, 2, 94, 6},
       {"receive_pktloss", 38, 4, 36, 6},
       {"send_pktloss", 40, 0, 38, 2}}},
     {"aggregate", 74.0, 1.4, 69.0, 5.7}},
    {"Lustre 6/12",
     "Table 5",
     {{{"none", 0, 6, 0, 6},
       {"disk_hog", 100, 0, 100, 0},
       {"disk_busy", 76, 8, 38, 46},
       {"write_network_hog", 86, 14, 86, 14},
       {"read_network_hog", 92, 8, 92, 8},
       {"receive_pktloss", 40, 2, 40, 2},
       {"send_pktloss", 38, 8, 38, 8}}},
     {"aggregate", 72.0, 6.6, 65.7, 12.0}},
};

}  // namespace

std::span<const PaperTable> paper_tables() {
  return kTables;
}

const std::vector<std::string>& paper_faults() {
  static const std::vector<std::string> faults = [] {
    std::vector<std::string> out;
    for (const PaperRow& row : kTables[0].rows) out.emplace_back(row.fault);
    return out;
  }();
  return faults;
}

}  // namespace culprit
