// Feeds a JSON parser byte by byte and stops it where a single token would need more memory than we give it.
// nlohmann's parser keeps the current token, so watching the quotes from outside bounds what it can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "store/import_table.h"

namespace culprit {

class JsonBytes {
 public:
  explicit JsonBytes(const ReadFn& read) : read_(read), block_(kBlockBytes, '\0') { advance(); }

  bool at_end() const { return current_ < 0; }
  char current() const { return static_cast<char>(current_); }
  void advance();

  int64_t line() const { return line_; }
  bool token_too_long() const { return too_long_; }
  bool input_ended() const { return ended_; }  // the end was reached, as opposed to being stopped
  int64_t bytes() const { return bytes_; }
  const std::optional<Error>& error() const { return error_; }

  // What nlohmann::json wants: an input iterator whose default object is the end.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    Iterator() = default;
    explicit Iterator(JsonBytes* bytes) : bytes_(bytes) {}
    char operator*() const { return bytes_->current(); }
    Iterator& operator++() {
      bytes_->advance();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      bytes_->advance();
      return before;
    }
    bool operator==(const Iterator& other) const { return over() == other.over(); }
    bool operator!=(const Iterator& other) const { return over() != other.over(); }

   private:
    bool over() const { return bytes_ == nullptr || bytes_->at_end(); }
    JsonBytes* bytes_ = nullptr;
  };

 private:
  static constexpr size_t kBlockBytes = 65536;
  static constexpr int64_t kMaxTokenBytes = 65536;  // host and device names are the longest texts there are

  int next_byte();
  void watch(char c);

  const ReadFn& read_;
  std::string block_;
  size_t at_ = 0;
  size_t size_ = 0;
  int current_ = -1;
  int64_t line_ = 1;
  int64_t bytes_ = 0;
  int64_t token_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  bool too_long_ = false;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace culprit
