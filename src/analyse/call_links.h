// What a client last did with each server: a request without an answer is how a hang looks from outside (HotDep'09,
// section 7).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyse/call_data.h"

namespace culprit {

class LinkTracker {
 public:
  void wrote(const std::string& server, const std::string& endpoint, int64_t t_ns);
  void read(const std::string& server, const std::string& endpoint, int64_t t_ns);
  // The connection failed with `error`; 0: the server closed it.
  void failed(const std::string& server, const std::string& endpoint, int error, int64_t t_ns);
  void finish(int64_t end_ns, NodeCalls& out);

 private:
  struct State {
    ClientLink link;
    int64_t waiting_since_ns = 0;  // 0: nothing is awaited
  };
  State* state_of(const std::string& server, const std::string& endpoint);
  static void end_wait(State& state, int64_t t_ns, bool answered);

  std::map<std::pair<std::string, std::string>, State> states_;
  std::map<std::string, std::map<int, LinkRefusal>> refusals_;
};

bool is_connection_error(int error);  // ECONNREFUSED and kin

}  // namespace culprit
