// What a function that can fail returns: a value or an Error. Ignoring one does not compile.
// Ours because g++ 12 has no std::expected and Debian's tl::expected 1.0 is not nodiscard.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace culprit {

enum class ErrorKind {
  usage,        // the command line is wrong: exit code 2
  input,        // a file or stream holds something we cannot accept
  system,       // the operating system refused; errno_value says why
  unsupported,  // this machine, kernel or file cannot do it
};

// `what` says what we were doing, without a full stop; `hint` what the user can do about it.
struct Error {
  ErrorKind kind = ErrorKind::input;
  std::string what;
  std::string hint;
  int errno_value = 0;

  std::string message() const;  // "what: strerror"
};

Error usage_error(std::string what, std::string hint = "");
Error input_error(std::string what, std::string hint = "");
Error system_error(std::string what, int errno_value, std::string hint = "");
Error unsupported_error(std::string what, std::string hint = "");

struct Ok {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: so is an error
  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  T& value() & {
    CHECK(ok()) << error().message();
    return std::get<0>(state_);
  }
  const T& value() const& {
    CHECK(ok()) << error().message();
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok()) << error().message();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Ok>;

}  // namespace culprit

#define CULPRIT_CONCAT_(a, b) a##b
#define CULPRIT_CONCAT(a, b) CULPRIT_CONCAT_(a, b)

// RETURN_IF_ERROR(do_it());
#define RETURN_IF_ERROR(expr)                                               \
  do {                                                                      \
    if (auto status_ = (expr); !status_) return std::move(status_).error(); \
  } while (0)

// ASSIGN_OR_RETURN(auto text, read_file(path));
#define ASSIGN_OR_RETURN(decl, expr) ASSIGN_OR_RETURN_(CULPRIT_CONCAT(result_, __LINE__), decl, expr)
#define ASSIGN_OR_RETURN_(tmp, decl, expr) \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  decl = std::move(tmp).value()
