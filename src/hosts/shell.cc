#include "hosts/shell.h"

#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-";

}  // namespace

std::string shell_quote(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (char c : word) {
    if (c == '\'' || c == '!')
      quoted += cat("'\\", c, "'");
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quote(word));
  return join(quoted, " ");
}

}  // namespace culprit
