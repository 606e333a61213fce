// `culprit-node syscap`: the capture of a node behind ssh. It says that it is there, reads its orders from stdin (a key
// and thousands of peers do not belong into a command line that everybody sees), and sends its logs as frames to
// stdout. When stdin ends, or nothing comes through it for 200 s, it detaches and ends: a recorder that dies, or whose
// connection breaks, leaves nothing running.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/node_target.h"

namespace culprit {

struct CaptureOrders {
  NodeOrder node;
  std::string backend;        // "": the best one there
  std::string calls = "all";  // a set as parse_call_set takes it
  bool sums = false;
  int64_t buffer_bytes = 64 << 20;
  std::string hash_key;  // "": path names as they are
};

// One "word value" a line, then "go". docs/formats/capture-stream.md.
std::string format_orders(const CaptureOrders& orders);

class OrdersReader {
 public:
  // True when that was the last line. Words that are not known are skipped: they are of a newer version.
  Result<bool> take(std::string_view line);
  const CaptureOrders& orders() const { return orders_; }

 private:
  CaptureOrders orders_;
  size_t lines_ = 0;
};

// The backend of that name, or the best one; an error when it cannot work here. `why` says why it is not ebpf.
Result<const BackendInfo*> choose_backend(std::string_view name, std::string& why);

// The whole command; returns the exit code.
int run_capture_command(const std::vector<std::string>& arguments, int in, int out, int err);

}  // namespace culprit
