#include "capture/ptrace/task_status.h"

#include <cstdint>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr int64_t kMostText = 1 << 20;  // long lists of groups make it long

pid_t number_of(std::string_view value) {
  auto number = parse_int(value);
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<pid_t>(*number) : 0;
}

}  // namespace

std::optional<TaskStatus> parse_task_status(std::string_view text) {
  TaskStatus status;
  std::string_view line;
  while (next_line(text, line)) {
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    std::string_view value = trim(line.substr(colon + 1));
    if (key == "State" && !value.empty()) status.state = value.front();
    if (key == "Tgid") status.process = number_of(value);
    if (key == "PPid") status.parent = number_of(value);
    if (key == "TracerPid") {
      status.tracer = number_of(value);
      break;  // the last that we need
    }
  }
  if (status.process == 0) return std::nullopt;
  return status;
}

std::optional<TaskStatus> task_status(pid_t tid) {
  auto text = read_file(cat("/proc/", tid, "/status"), kMostText);
  if (!text) return std::nullopt;
  return parse_task_status(*text);
}

}  // namespace culprit
