// culprit-node fault ...: what a controller starts on a node.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "inject/guard.h"
#include "inject/journal.h"
#include "inject/preflight.h"
#include "inject/report.h"
#include "inject/undo.h"

namespace culprit {

namespace {

constexpr std::string_view kHint = "culprit-node fault guard, check, undo-all or status, the last two with --node NAME";

int complain(int out, const Error& error) {
  static_cast<void>(write_all(out, format_report({.kind = GuardReport::Kind::failed, .error = error}), "the output"));
  return error.kind == ErrorKind::usage ? 2 : 1;
}

// The guard lives in a session of its own, so that what kills its starter's group or terminal does not reach it. A
// leader of a group cannot leave it, hence the fork; who stays behind hands on the exit code.
int in_own_session(int in, int out) {
  pid_t child = ::fork();
  if (child < 0) return complain(out, system_error("cannot start the guard", errno));
  if (child == 0) {
    ::setsid();
    ::_exit(run_guard(in, out, false));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int print_reports(int out, const std::vector<JournalReport>& reports) {
  bool good = true;
  std::string text;
  for (const JournalReport& report : reports) {
    text += format_journal_report(report);
    good = good && report.state != "stuck" && report.state != "unreadable";
  }
  Status written = write_all(out, text + "done\n", "the output");
  return written && good ? 0 : 1;
}

}  // namespace

int run_fault_command(const std::vector<std::string>& words, int in, int out) {
  const std::string what = words.empty() ? "" : words[0];
  if (words.size() == 1 && what == "guard") return in_own_session(in, out);
  if (words.size() == 1 && what == "check") return run_guard(in, out, true);
  bool named = words.size() == 3 && words[1] == "--node" && is_plain_name(words[2]);
  if ((words.size() != 1 && !named) || (what != "undo-all" && what != "status"))
    return complain(out, usage_error("these words are not understood", std::string(kHint)));
  widen_path();
  std::string node = named ? words[2] : "";
  if (::geteuid() != 0)  // the journals are root's: who cannot read them must not say that there are none
    return complain(out, system_error("looking for faults needs root", 0, "run as root, or reach the node as root"));
  if (what == "status") return print_reports(out, journal_status(journal_folders(), node));
  return print_reports(out, undo_all(journal_folders(), node, Scope::everything));
}

}  // namespace culprit
