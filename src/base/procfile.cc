#include "base/procfile.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace culprit {

Result<std::string_view> ProcFile::read() {
  if (!fd_.valid()) fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_.valid()) return system_error("cannot read " + path_, errno);
  if (buffer_.size() < 4096) buffer_.resize(4096);
  size_t filled = 0;
  while (true) {
    ssize_t n = ::pread(fd_.get(), buffer_.data() + filled, buffer_.size() - filled, static_cast<off_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error = errno;
      fd_.reset();
      return system_error("cannot read " + path_, error);
    }
    if (n == 0) return std::string_view(buffer_.data(), filled);
    filled += static_cast<size_t>(n);
    if (filled == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  }
}

std::string_view next_word(std::string_view& text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    text = {};
    return {};
  }
  size_t end = text.find_first_of(" \t", first);
  std::string_view word = text.substr(first, end == std::string_view::npos ? end : end - first);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  return word;
}

bool next_number(std::string_view& text, int64_t& out) {
  std::string_view word = next_word(text);
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  size_t end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return true;
}

}  // namespace culprit
