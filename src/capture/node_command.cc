#include "capture/node_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"
#include "capture/call_sets.h"
#include "capture/frames.h"
#include "capture/recorder.h"

namespace culprit {

namespace {

constexpr size_t kMostLine = 65536;                // of the orders and pings
constexpr size_t kMostOrders = 1'000'000;          // lines: a peer each, and some
constexpr int64_t kMostBuffer = int64_t{4} << 30;  // bytes; the kernel refuses long before
constexpr unsigned kMostSilence = 200;             // seconds; pings come every 60, so three are missing

constexpr std::string_view kKinds[] = {"server", "client", "other"};  // in the order of NodeKind

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2) {
    size_t high = kDigits.find(text[i]);
    size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

bool take_ports(CaptureOrders& orders, std::string_view value) {
  int64_t first = 0;
  int64_t last = 0;
  if (!next_number(value, first) || !next_number(value, last) || first < 1 || first > last || last > 65535)
    return false;
  orders.node.around.data_ports.push_back({static_cast<int>(first), static_cast<int>(last)});
  return true;
}

bool take_peer(CaptureOrders& orders, std::string_view value) {
  std::string_view kind = next_word(value);
  const auto* found = std::find(std::begin(kKinds), std::end(kKinds), kind);
  Surroundings::Peer peer;
  peer.address = next_word(value);
  peer.node = trim(value);
  if (found == std::end(kKinds) || peer.address.empty() || peer.node.empty()) return false;
  peer.kind = static_cast<NodeKind>(found - std::begin(kKinds));
  orders.node.around.peers.push_back(std::move(peer));
  return true;
}

bool take_pid(CaptureOrders& orders, std::string_view value) {
  auto number = parse_int(value);
  if (!number || *number < 1 || *number > INT32_MAX) return false;
  orders.node.pids.push_back(static_cast<pid_t>(*number));
  return true;
}

bool take_buffer(CaptureOrders& orders, std::string_view value) {
  auto number = parse_int(value);
  if (!number || *number < 1 || *number > kMostBuffer) return false;
  orders.buffer_bytes = *number;
  return true;
}

bool take_key(CaptureOrders& orders, std::string_view value) {
  auto key = from_hex(value);
  if (!key) return false;
  orders.hash_key = *key;
  return true;
}

bool take_switch(bool& out, std::string_view value) {
  out = value == "1";
  return value == "0" || value == "1";
}

bool take_text(std::string& out, std::string_view value) {
  out = value;
  return true;
}

bool add_text(std::vector<std::string>& out, std::string_view value) {
  out.emplace_back(value);
  return !value.empty();
}

struct Order {
  std::string_view word;
  bool (*take)(CaptureOrders& orders, std::string_view value);
};

constexpr Order kOrders[] = {
    {"node", [](CaptureOrders& o, std::string_view v) { return take_text(o.node.name, v); }},
    {"server", [](CaptureOrders& o, std::string_view v) { return take_switch(o.node.around.server, v); }},
    {"daemon", [](CaptureOrders& o, std::string_view v) { return add_text(o.node.daemons, v); }},
    {"pid", take_pid},
    {"cgroup", [](CaptureOrders& o, std::string_view v) { return take_text(o.node.cgroup, v); }},
    {"storage", [](CaptureOrders& o, std::string_view v) { return add_text(o.node.around.storage, v); }},
    {"storage_option", [](CaptureOrders& o, std::string_view v) { return take_text(o.node.storage_option, v); }},
    {"ports", take_ports},
    {"peer", take_peer},
    {"backend", [](CaptureOrders& o, std::string_view v) { return take_text(o.backend, v); }},
    {"calls", [](CaptureOrders& o, std::string_view v) { return take_text(o.calls, v); }},
    {"sums", [](CaptureOrders& o, std::string_view v) { return take_switch(o.sums, v); }},
    {"buffer", take_buffer},
    {"key", take_key},
};

// Both threads write to it: frames must not be torn.
class FrameOut {
 public:
  explicit FrameOut(int fd) : fd_(fd) {}
  Status raw(std::string_view bytes) {
    std::lock_guard<std::mutex> guard(mutex_);
    return write_all(fd_, bytes, "the stream");
  }
  Status send(FrameKind kind, std::string_view payload) {
    do {
      std::string_view part = payload.substr(0, kMostFrameBytes);
      RETURN_IF_ERROR(raw(format_frame(kind, part)));
      payload.remove_prefix(part.size());
    } while (!payload.empty());
    return Ok{};
  }

 private:
  int fd_;
  std::mutex mutex_;
};

// Lines of a descriptor. A line that is too long is dropped.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  std::optional<std::string> next() {
    size_t newline = buffer_.find('\n');
    if (newline == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, newline);
    buffer_.erase(0, newline + 1);
    return line;
  }
  // Waits for more; false at the end.
  bool read() {
    char block[65536];
    ssize_t n = ::read(fd_, block, sizeof block);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (buffer_.size() > kMostLine && buffer_.find('\n') == std::string::npos) buffer_.clear();
    buffer_.append(block, static_cast<size_t>(n));
    return n > 0;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string buffer_;
};

// A connection may break without a word: nobody tells us, and who writes into it waits for hours. Then a timer ends us,
// whatever our threads are waiting for, and the kernel lets go of all that we hold. There is nobody to hand over to.
class DeadMansSwitch {
 public:
  DeadMansSwitch() {
    struct sigaction action {};
    action.sa_handler = [](int) { ::_exit(1); };
    ::sigaction(SIGALRM, &action, nullptr);
    wind_up();
  }
  ~DeadMansSwitch() { ::alarm(0); }
  DeadMansSwitch(const DeadMansSwitch&) = delete;
  DeadMansSwitch& operator=(const DeadMansSwitch&) = delete;
  void wind_up() { ::alarm(kMostSilence); }
};

// Answers pings at once, whatever the capture is doing, and sees the end of stdin.
class Listener {
 public:
  Listener(Lines& lines, FrameOut& frames)
      : lines_(lines), frames_(frames), wake_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { listen(); }) {}
  ~Listener() {
    uint64_t one = 1;
    static_cast<void>(write_all(wake_.get(), {reinterpret_cast<const char*>(&one), sizeof one}, "the listener"));
    thread_.join();
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  bool ended() const { return ended_; }

 private:
  void listen() {
    while (true) {
      while (auto line = lines_.next()) answer(*line);
      pollfd fds[2] = {{lines_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0 && errno != EINTR) break;
      if (fds[1].revents != 0) return;
      if (fds[0].revents == 0) continue;
      if (!lines_.read()) break;
      switch_.wind_up();
    }
    ended_ = true;
  }

  void answer(std::string_view line) {
    int64_t number = 0;
    if (next_word(line) != "ping" || !next_number(line, number)) return;
    if (!frames_.send(FrameKind::pong, cat(number, " ", wall_now_ns()))) ended_ = true;
  }

  Lines& lines_;
  FrameOut& frames_;
  Fd wake_;
  DeadMansSwitch switch_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // the last member: it uses the others
};

Result<CaptureOrders> read_orders(Lines& lines) {
  OrdersReader reader;
  while (true) {
    while (auto line = lines.next()) {
      ASSIGN_OR_RETURN(bool complete, reader.take(*line));
      if (complete) return reader.orders();
    }
    if (!lines.read()) return input_error("the orders ended before they were complete");
  }
}

Result<RecorderOptions> options_of(const CaptureOrders& orders, FrameOut& frames) {
  RecorderOptions options;
  std::string why;
  ASSIGN_OR_RETURN(const BackendInfo* backend, choose_backend(orders.backend, why));
  if (!why.empty()) RETURN_IF_ERROR(frames.send(FrameKind::note, cat("ebpf cannot be used: ", why)));
  options.backend = backend->name;
  ASSIGN_OR_RETURN(CaptureNode node, find_target(orders.node, ::getpid()));
  options.what = {target_text(node)};
  if (node.processes.empty()) RETURN_IF_ERROR(frames.send(FrameKind::note, options.what[0]));
  options.capture.nodes.push_back(std::move(node));
  ASSIGN_OR_RETURN(options.capture.calls, parse_call_set(orders.calls));
  options.call_set = orders.calls;
  options.capture.sums = orders.sums;
  options.capture.buffer_bytes = static_cast<size_t>(orders.buffer_bytes);
  options.hash_key = orders.hash_key;
  options.tool = "culprit " CULPRIT_VERSION;
  return options;
}

// Until stdin ends. Returns why it stopped.
Result<std::string> capture(Lines& lines, FrameOut& frames) {
  ASSIGN_OR_RETURN(CaptureOrders orders, read_orders(lines));
  ASSIGN_OR_RETURN(RecorderOptions options, options_of(orders, frames));
  Listener listener(lines, frames);
  options.stop = [&] { return listener.ended(); };
  options.open_log = [&](size_t, LogHeader header) -> Result<CallLogWriter> {
    auto sink = [&frames](LogFile file, std::string_view bytes) {
      return frames.send(file == LogFile::calls ? FrameKind::calls : FrameKind::fds, bytes);
    };
    return CallLogWriter(sink, std::move(header));
  };
  // Should one of these not arrive, the next block of the log does not either, and that ends the capture.
  options.progress = [&](int64_t calls, int64_t lost) {
    static_cast<void>(frames.send(FrameKind::status, cat(calls, " ", lost)));
  };
  options.began = [&] { static_cast<void>(frames.send(FrameKind::began, options.backend)); };
  ASSIGN_OR_RETURN(RecorderOutcome outcome, record_calls(options));
  for (const LogEnd& end : outcome.ends) {
    RETURN_IF_ERROR(frames.send(FrameKind::status, cat(end.calls, " ", end.all_lost())));
    for (const std::string& note : end.notes) RETURN_IF_ERROR(frames.send(FrameKind::note, note));
  }
  return outcome.stopped;
}

constexpr std::string_view kHelp =
    "culprit-node syscap: captures this node's system calls for `culprit syscap`, which starts it through ssh.\n"
    "It reads its orders from stdin and writes frames to stdout (docs/formats/capture-stream.md).\n";

}  // namespace

std::string format_orders(const CaptureOrders& orders) {
  const Surroundings& around = orders.node.around;
  std::string out = cat("node ", orders.node.name, "\nserver ", around.server ? 1 : 0, "\n");
  for (const std::string& daemon : orders.node.daemons) out += cat("daemon ", daemon, "\n");
  for (pid_t pid : orders.node.pids) out += cat("pid ", pid, "\n");
  if (!orders.node.cgroup.empty()) out += cat("cgroup ", orders.node.cgroup, "\n");
  for (const std::string& folder : around.storage) out += cat("storage ", folder, "\n");
  if (!orders.node.storage_option.empty()) out += cat("storage_option ", orders.node.storage_option, "\n");
  for (const PortRange& range : around.data_ports) out += cat("ports ", range.first, " ", range.last, "\n");
  for (const Surroundings::Peer& peer : around.peers)
    out += cat("peer ", kKinds[static_cast<size_t>(peer.kind)], " ", peer.address, " ", peer.node, "\n");
  if (!orders.backend.empty()) out += cat("backend ", orders.backend, "\n");
  out += cat("calls ", orders.calls, "\nsums ", orders.sums ? 1 : 0, "\nbuffer ", orders.buffer_bytes, "\n");
  if (!orders.hash_key.empty()) out += cat("key ", to_hex(orders.hash_key), "\n");
  return out + "go\n";
}

Result<bool> OrdersReader::take(std::string_view line) {
  if (line == "go") return true;
  if (++lines_ > kMostOrders) return input_error("there is no end of orders");
  size_t blank = line.find(' ');
  std::string_view word = line.substr(0, blank);
  std::string_view value = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  for (const Order& order : kOrders)
    if (order.word == word && !order.take(orders_, value))
      return input_error(cat("cannot follow the order \"", printable(line), "\""));
  return false;
}

Result<const BackendInfo*> choose_backend(std::string_view name, std::string& why) {
  if (name.empty()) return best_backend(why);
  ASSIGN_OR_RETURN(const BackendInfo* backend, find_backend(name));
  RETURN_IF_ERROR(backend->check());
  return backend;
}

int run_capture_command(const std::vector<std::string>& arguments, int in, int out, int err) {
  if (!arguments.empty()) {
    bool help = arguments[0] == "--help";
    static_cast<void>(write_all(help ? out : err, kHelp, "the help"));
    return help ? 0 : 2;
  }
  FrameOut frames(out);
  Lines lines(in);
  if (!frames.raw(frames_header(CULPRIT_VERSION))) return 1;
  auto stopped = capture(lines, frames);
  if (stopped) return frames.send(FrameKind::done, *stopped) ? 0 : 1;
  // A recorder that closed its end is the normal way to be told to stop.
  if (stopped.error().errno_value == EPIPE) return 0;
  static_cast<void>(frames.send(FrameKind::error, cat(stopped.error().message(), "\n", stopped.error().hint)));
  return 1;
}

}  // namespace culprit
