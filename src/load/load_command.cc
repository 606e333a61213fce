// culprit-node load ... and culprit-node churn ...: the part that talks to a shell.
#include <csignal>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "load/churn.h"
#include "load/load.h"

namespace culprit {

namespace {

std::atomic<bool> stopped = false;  // a signal handler reaches nothing but a global

int complain(int err, const Error& error) {
  std::string text = cat("culprit-node: ", error.message(), "\n");
  if (!error.hint.empty()) text += cat("hint: ", error.hint, "\n");
  static_cast<void>(write_all(err, text, "the errors"));
  return error.kind == ErrorKind::usage ? 2 : 1;
}

// Without SA_RESTART, so that a call that waits comes back.
void listen_to_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int number : {SIGTERM, SIGINT}) ::sigaction(number, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error of the call
}

}  // namespace

std::string format_load_line(const LoadLine& line) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", static_cast<double>(line.ns) / 1e9);
  return cat("phase ", line.phase, " bytes ", line.bytes, " seconds ", seconds, "\n");
}

int run_load_command(const std::vector<std::string>& words, int out, int err) {
  auto options = parse_load_options(words);
  if (!options) return complain(err, options.error());
  if (options->help) return write_all(out, load_help(), "the output") ? 0 : 1;
  listen_to_signals();
  std::vector<LoadLine> lines;
  Status done = run_load(*options, stopped, lines);
  std::string text;
  for (const LoadLine& line : lines) text += format_load_line(line);
  Status written = write_all(out, text, "the output");
  if (!done) return complain(err, done.error());
  return written ? 0 : complain(err, written.error());
}

// Several of them may share the streams, so each line names its folder.
int run_churn_command(const std::vector<std::string>& words, int out, int err) {
  auto options = parse_churn_options(words);
  if (!options) return complain(err, options.error());
  if (options->help) return write_all(out, churn_help(), "the output") ? 0 : 1;
  listen_to_signals();
  const std::string name = options->folder.substr(options->folder.find_last_of('/') + 1);
  auto tell = [&](const ChurnReport& report) {
    static_cast<void>(write_all(out, cat(name, ": ", format_churn(report)), "the output"));
  };
  ChurnListener listener;
  listener.first = [&](std::string_view line) { static_cast<void>(write_all(err, cat(line, "\n"), "the errors")); };
  listener.so_far = tell;
  tell(run_churn(*options, stopped, listener));
  return 0;
}

}  // namespace culprit
