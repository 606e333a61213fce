// CHECK(condition) << values: a bug in culprit itself, also in release builds. Never for bad input.
#pragma once

#include <sstream>

namespace culprit {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  template <class T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

}  // namespace culprit

#define CHECK(condition)      \
  if (condition) [[likely]] { \
  } else                      \
    ::culprit::CheckFailure(__FILE__, __LINE__, #condition)
