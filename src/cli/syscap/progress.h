// What a capture says while it runs, on stderr: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace culprit {

class CaptureProgress {
 public:
  CaptureProgress(bool quiet, int64_t for_ns);
  void show(int64_t calls, int64_t lost);
  void line(std::string_view text);  // said also when quiet
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  int64_t for_ns_;
  int64_t start_ns_;
  int64_t next_ns_;
};

}  // namespace culprit
