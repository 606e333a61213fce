// culprit-node: what runs on a node, as a static program that is started there. As a sampler it owns nothing and leaves
// nothing: counters go to stdout, and it ends as soon as its stdin closes, because then the recorder is gone.
// `culprit-node fault ...` is the guard of an injected fault, `culprit-node load ...` and `culprit-node churn ...` the
// load of an experiment, `culprit-node syscap` the capture of a node's system calls.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/node_command.h"
#include "inject/guard.h"
#include "load/churn.h"
#include "load/load.h"
#include "sample/node_options.h"
#include "sample/sampler.h"
#include "sample/stream.h"

namespace culprit {
namespace {

constexpr size_t kMostInput = 4096;  // a ping is 25 bytes; a longer line is dropped

int complain(const Error& error) {
  std::string text = cat("culprit-node: ", error.message(), "\n");
  if (!error.hint.empty()) text += cat("hint: ", error.hint, "\n");
  std::fputs(text.c_str(), stderr);
  return error.kind == ErrorKind::usage ? 2 : 1;
}

// What came on stdin; answers go to `out`. False at its end.
bool read_pings(std::string& input, std::string& out) {
  char block[1024];
  ssize_t n = ::read(STDIN_FILENO, block, sizeof block);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  input.append(block, static_cast<size_t>(n));
  for (size_t end = input.find('\n'); end != std::string::npos; end = input.find('\n')) {
    int64_t number = parse_ping(std::string_view(input).substr(0, end));
    if (number >= 0) out += format_pong(number, wall_now_ns());
    input.erase(0, end + 1);
  }
  if (input.size() > kMostInput) input.clear();
  return true;
}

// Waits for the tick or for stdin, whichever is first. False when stdin has ended.
bool wait_for_tick(int64_t wait_ns, std::string& input, std::string& out) {
  pollfd poll{STDIN_FILENO, POLLIN, 0};
  timespec limit{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
  int ready = ::ppoll(&poll, 1, &limit, nullptr);
  if (ready < 0) return errno == EINTR;
  return ready == 0 || read_pings(input, out);
}

// A recorder that closed its end is the normal way to be told to stop.
Result<bool> send(std::string& out) {
  Status written = write_all(STDOUT_FILENO, out, "the stream");
  out.clear();
  if (written) return true;
  if (written.error().errno_value == EPIPE) return false;
  return std::move(written).error();
}

Result<bool> run(const NodeOptions& options) {
  Sampler sampler(options.env);
  Sample sample;
  std::string out = format_stream_header(CULPRIT_VERSION, environment(options.env));
  std::string input;
  if (options.once) {
    sampler.take(sample);
    format_sample(sample, out);
    return send(out);
  }
  Ticker ticker(options.env.interval_ns, wall_now_ns());
  ASSIGN_OR_RETURN(bool listening, send(out));  // the header at once: the recorder knows that we live
  while (listening) {
    if (!wait_for_tick(ticker.wait_ns(wall_now_ns()), input, out)) return true;
    if (int64_t wall = wall_now_ns(); ticker.wait_ns(wall) == 0) {
      int64_t skipped = ticker.begin(wall, monotonic_now_ns());
      sampler.take(sample);
      sample.skipped = skipped;
      format_sample(sample, out);
    }
    if (out.empty()) continue;
    ASSIGN_OR_RETURN(listening, send(out));
  }
  return true;
}

int node_main(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  if (!arguments.empty() && arguments[0] == "fault")
    return run_fault_command({arguments.begin() + 1, arguments.end()}, STDIN_FILENO, STDOUT_FILENO);
  if (!arguments.empty() && arguments[0] == "load")
    return run_load_command({arguments.begin() + 1, arguments.end()}, STDOUT_FILENO, STDERR_FILENO);
  if (!arguments.empty() && arguments[0] == "churn")
    return run_churn_command({arguments.begin() + 1, arguments.end()}, STDOUT_FILENO, STDERR_FILENO);
  if (!arguments.empty() && arguments[0] == "syscap")
    return run_capture_command({arguments.begin() + 1, arguments.end()}, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
  auto options = parse_node_options(arguments);
  if (!options) return complain(options.error());
  if (options->help || options->version) {
    std::fputs(options->help ? node_help().c_str() : "culprit-node " CULPRIT_VERSION "\n", stdout);
    return 0;
  }
  auto ended = run(*options);
  return ended ? 0 : complain(ended.error());
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  return culprit::node_main({argv + 1, argv + argc});
}
