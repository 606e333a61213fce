// What a recording says while it runs, on stderr: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct Progress {
  int64_t elapsed_ns = 0;
  int64_t for_ns = 0;  // 0: until it is stopped
  int64_t samples = 0;
  int64_t size_bytes = 0;
  size_t nodes = 0;
  std::vector<std::string> silent;
};
std::string progress_text(const Progress& progress);

class Console {
 public:
  explicit Console(bool quiet);
  // The status line goes away first and is drawn again with the next progress. Warnings are said also when quiet.
  void line(std::string_view text);
  void progress(const Progress& progress, int64_t mono_ns);
  int64_t next_progress_ns() const { return next_ns_; }  // monotonic
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace culprit
