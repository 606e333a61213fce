#include "base/result.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace culprit {

std::string Error::message() const {
  return errno_value ? what + ": " + std::strerror(errno_value) : what;
}

Error usage_error(std::string what, std::string hint) {
  return {ErrorKind::usage, std::move(what), std::move(hint), 0};
}
Error input_error(std::string what, std::string hint) {
  return {ErrorKind::input, std::move(what), std::move(hint), 0};
}
Error system_error(std::string what, int errno_value, std::string hint) {
  return {ErrorKind::system, std::move(what), std::move(hint), errno_value};
}
Error unsupported_error(std::string what, std::string hint) {
  return {ErrorKind::unsupported, std::move(what), std::move(hint), 0};
}

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  text_ << "culprit: bug at " << file << ":" << line << ": CHECK(" << condition << ") failed ";
}

CheckFailure::~CheckFailure() {
  std::fputs(text_.str().c_str(), stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace culprit
