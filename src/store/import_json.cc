#include "store/import_json.h"

namespace culprit {

int JsonBytes::next_byte() {
  if (at_ == size_) {
    if (ended_) return -1;
    auto n = read_(block_.data(), block_.size());
    if (!n) error_ = n.error();
    at_ = 0;
    size_ = n ? *n : 0;
    if (size_ == 0) {
      ended_ = true;
      return -1;
    }
  }
  return static_cast<unsigned char>(block_[at_++]);
}

// A token is a text, or all between two of {}[],: including blanks, which the parser collects as well.
void JsonBytes::watch(char c) {
  ++token_;
  if (in_text_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_text_ = false;
      token_ = 0;
    }
  } else if (c == '"') {
    in_text_ = true;
    token_ = 0;
  } else if (c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':') {
    token_ = 0;
  }
}

void JsonBytes::advance() {
  if (too_long_) return;
  if (current_ == '\n') ++line_;
  current_ = next_byte();
  if (current_ < 0) return;
  ++bytes_;
  watch(static_cast<char>(current_));
  if (token_ > kMaxTokenBytes) {
    too_long_ = true;
    current_ = -1;
  }
}

}  // namespace culprit
