#include "study/child_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "inject/report.h"

namespace culprit {

namespace {

constexpr size_t kMostComplaints = 8;  // lines; the first tell most
constexpr size_t kLastLines = 2;       // churn has two streams
constexpr size_t kLongestLine = 300;

}  // namespace

void read_ends(int fd, std::string& text, size_t limit) {
  read_available(fd, text, limit);
  if (text.size() >= limit) text.erase(limit / 4, limit / 2);
}

std::string first_and_last(std::string_view out, std::string_view err) {
  std::vector<std::string> lines;
  for (std::string_view line : split(trim(err), '\n'))
    if (!line.empty() && lines.size() < kMostComplaints) lines.push_back(printable(line, kLongestLine));
  const std::vector<std::string_view> last = split(trim(out), '\n');
  for (size_t i = last.size() - std::min(last.size(), kLastLines); i < last.size(); ++i)
    if (!last[i].empty()) lines.push_back(printable(last[i], kLongestLine));
  return join(lines, "\n");
}

ErrorWords first_error(std::string_view err) {
  constexpr std::string_view kError = "culprit: ", kHint = "hint: ";
  ErrorWords out;
  for (std::string_view line : split(trim(err), '\n')) {
    if (out.what.empty() && line.starts_with(kError)) out.what = printable(line.substr(kError.size()), kLongestLine);
    if (!out.what.empty() && out.hint.empty() && line.starts_with(kHint))
      out.hint = printable(line.substr(kHint.size()), kLongestLine);
  }
  if (out.what.empty()) out.what = printable(trim(err), kLongestLine);
  return out;
}

bool only_faded(const std::string& json) {
  const nlohmann::json said = nlohmann::json::parse(json, nullptr, false);
  if (!said.is_object() || !said.contains("parts")) return false;
  bool faded = false;
  for (const nlohmann::json& part : said.at("parts")) {
    const bool fine = part.is_object() && part.value("clean", false) && !part.contains("error");
    if (!fine || part.value("reason", "") != kReasonTime) return false;
    faded = faded || part.value("faded", false);
  }
  return faded;
}

}  // namespace culprit
