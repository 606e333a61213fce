// What a client last did with each server: a request without an answer is how a hang looks from outside (HotDep'09,
// section 7).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyse/call_data.h"

namespace culprit {

class LinkTracker {
 public:
  void wrote(int32_t process, const std::string& server, const std::string& endpoint, int64_t t_ns);
  void read(const std::string& server, const std::string& endpoint, int64_t t_ns);
  // The connection failed with `error`; 0: the server closed it.
  void failed(const std::string& server, const std::string& endpoint, int error, int64_t t_ns);
  // It waits for nothing any more.
  void ended(int32_t process, int64_t t_ns);
  void finish(int64_t end_ns, NodeCalls& out);

 private:
  struct State {
    ClientLink link;
    int64_t waiting_since_ns = 0;  // 0: nothing is awaited
    int32_t process = 0;           // that waits; 0: several do
  };
  State* state_of(const std::string& server, const std::string& endpoint);
  void end_wait(State& state, int64_t t_ns, bool answered);

  std::map<std::pair<std::string, std::string>, State> states_;
  std::set<std::pair<int32_t, State*>> awaited_;  // waits under way, by the process
  std::map<std::string, std::map<int, LinkRefusal>> refusals_;
  int64_t forgotten_ns_ = 0;
};

bool is_connection_error(int error);  // ECONNREFUSED and kin

// Room in a full list of stretches of time: the longer ones tell more. They stay in the order of time. Returns the
// longest of those that went.
template <class Stretch>
int64_t keep_longer_half(std::vector<Stretch>& all) {
  auto longer = [](const Stretch& a, const Stretch& b) { return a.until_ns - a.from_ns > b.until_ns - b.from_ns; };
  const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), all.begin() + half, all.end(), longer);
  const int64_t longest = all[static_cast<size_t>(half)].until_ns - all[static_cast<size_t>(half)].from_ns;
  all.resize(static_cast<size_t>(half));
  std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) { return a.from_ns < b.from_ns; });
  return longest;
}

}  // namespace culprit
