// A file of /proc or /sys that is read again every tick: opened once, read with pread into one buffer.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace culprit {

class ProcFile {
 public:
  explicit ProcFile(std::string path) : path_(std::move(path)) {}

  // The whole content, valid until the next read. Opens again after an error. Empty content is not an error.
  Result<std::string_view> read();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd fd_;
  std::string buffer_;
};

// Splits off the next blank-separated word of `text`; "" at the end.
std::string_view next_word(std::string_view& text);
// The next word as a number: false when there is none or it is not a decimal number that fits.
bool next_number(std::string_view& text, int64_t& out);
// Splits off the next line (without its newline); false at the end of the text.
bool next_line(std::string_view& text, std::string_view& line);

}  // namespace culprit
