// In the kernel: probes on typed raw tracepoints see the calls of the traced processes and of nobody else, and write
// them into a ring that is read here every 2 ms. capture/ebpf/syscap.bpf.c is the other half.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/backend.h"
#include "capture/ebpf/events.h"
#include "capture/ebpf/kernel_check.h"
#include "capture/ebpf/loader.h"
#include "capture/ebpf/sums.h"
#include "capture/ebpf/targets.h"
#include "capture/processes.h"
#include "capture/ptrace/command.h"
#include "capture/ptrace/inherited.h"

namespace culprit {

namespace {

constexpr int64_t kLookEvery = 2 * kNsPerMs;   // a 16 MiB ring then holds 75 times what comes meanwhile
constexpr size_t kMostPerTurn = 1 << 18;       // records, so that the caller can flush and look at its clock
constexpr int64_t kLastProbes = 2 * kNsPerMs;  // after detaching: a probe that was running then has ended
constexpr int kStopHere = -ECANCELED;          // tells libbpf to leave the rest in the ring
constexpr int kMostStatusWaits = 2000;         // of 1 ms: freeing a large process takes its time
constexpr size_t kMostNodes = 65535;           // a record has 16 bits for it

void sleep_ns(int64_t ns) {
  timespec pause{static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
  ::nanosleep(&pause, nullptr);
}

// The offset between two clocks, from the closest of several pairs of readings.
int64_t wall_minus_monotonic() {
  int64_t best_gap = INT64_MAX;
  int64_t best = 0;
  for (int i = 0; i < 16; ++i) {
    int64_t before = monotonic_now_ns();
    int64_t wall = wall_now_ns();
    int64_t after = monotonic_now_ns();
    if (after - before >= best_gap) continue;
    best_gap = after - before;
    best = wall - before - best_gap / 2;
  }
  return best;
}

class EbpfBackend : public Backend {
 public:
  Status start(const CaptureOptions& options) override;
  Result<bool> turn(CaptureSink& sink, int64_t wait_ns) override;
  Result<CaptureReport> stop(CaptureSink& sink) override;
  void end_command() override { abandon_command(); }
  size_t processes_alive() const override;
  int64_t lost_so_far() const override;
  ~EbpfBackend() override;

 private:
  Status prepare(const CaptureOptions& options);
  Status run_command(const CaptureOptions& options);
  void abandon_command();
  void reap_command();
  void await_status();
  void consume(CaptureSink& sink, size_t most);
  void hand_over_sums(CaptureSink& sink, int64_t second);
  Status look_for_members();
  void fill_report(CaptureReport& report);
  std::vector<int64_t> lost_per_cpu() const;
  std::vector<int64_t> unseen_per_node();
  static int take(void* self, void* data, size_t size);

  std::unique_ptr<Probes> probes_;  // on the heap: targets_ and the ring keep its address
  std::optional<Targets> targets_;
  EventContext context_;
  SumDeltas deltas_;
  bool sums_ = false;
  bool newcomers_ = false;
  std::vector<std::pair<size_t, std::string>> groups_;  // nodes with their control groups
  int64_t looked_at_ns_ = 0;
  int64_t second_ = 0;  // the one that is being summed
  std::optional<WaitingCommand> command_;
  int command_status_ = -1;
  CaptureSink* sink_ = nullptr;  // while records are consumed
  size_t taken_ = 0;
  size_t most_ = 0;
  int64_t strange_ = 0;  // records that were none
};

int EbpfBackend::take(void* self, void* data, size_t size) {
  auto& backend = *static_cast<EbpfBackend*>(self);
  std::string_view bytes(static_cast<const char*>(data), size);
  if (!deliver_event(bytes, backend.context_, *backend.sink_)) ++backend.strange_;
  return ++backend.taken_ < backend.most_ ? 0 : kStopHere;
}

void EbpfBackend::consume(CaptureSink& sink, size_t most) {
  sink_ = &sink;
  taken_ = 0;
  most_ = most;
  probes_->consume();
  sink_ = nullptr;
}

Status EbpfBackend::prepare(const CaptureOptions& options) {
  ProbeOptions probe;
  probe.calls = options.calls;
  probe.nodes = static_cast<uint32_t>(options.nodes.size());
  probe.sums = sums_ = options.sums;
  probe.buffer_bytes = options.buffer_bytes;
  probe.has_homes = std::any_of(options.nodes.begin(), options.nodes.end(), has_newcomers);
  for (size_t i = 0; i < options.nodes.size(); ++i)
    if (!options.nodes[i].cgroup.empty()) groups_.emplace_back(i, options.nodes[i].cgroup);
  newcomers_ = probe.has_homes || !groups_.empty();
  ASSIGN_OR_RETURN(Probes loaded, Probes::load(probe));
  probes_ = std::make_unique<Probes>(std::move(loaded));
  targets_.emplace(*probes_);
  RETURN_IF_ERROR(probes_->open_ring(take, this));
  return targets_->describe_nodes(options.nodes, options.sums);
}

// The child waits until the probes are there; nothing it does before its exec counts.
Status EbpfBackend::run_command(const CaptureOptions& options) {
  if (options.command.empty()) return probes_->attach();
  quiet_sigchld();
  ASSIGN_OR_RETURN(WaitingCommand waiting, prepare_command(options.command, {}));
  command_ = std::move(waiting);
  ASSIGN_OR_RETURN(ProcessId process, identify_process(command_->pid));
  RETURN_IF_ERROR(targets_->add(process, 0, false));
  RETURN_IF_ERROR(probes_->attach());
  let_go(*command_);
  int error = exec_error(*command_);
  if (error == 0) return Ok{};
  return system_error(cat("cannot run ", printable(options.command.front(), 200)), error);
}

Status EbpfBackend::start(const CaptureOptions& options) {
  RETURN_IF_ERROR(check_ebpf());
  if (options.nodes.empty() || options.nodes.size() > kMostNodes)
    return usage_error(cat("a capture has 1 to ", kMostNodes, " nodes, not ", options.nodes.size()));
  RETURN_IF_ERROR(prepare(options));
  context_ = {options.nodes.size(), wall_minus_monotonic()};
  second_ = wall_now_ns() / kNsPerSecond;
  for (size_t i = 0; i < options.nodes.size(); ++i)
    for (const ProcessId& process : options.nodes[i].processes) RETURN_IF_ERROR(targets_->add(process, i, true));
  Status running = run_command(options);
  if (running) running = targets_->add_families(options.nodes);
  if (!running) abandon_command();
  return running;
}

void EbpfBackend::abandon_command() {
  if (probes_) probes_->detach();
  if (!command_ || command_->pid <= 0) return;
  ::kill(command_->pid, SIGKILL);
  while (::waitpid(command_->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  command_.reset();
}

void EbpfBackend::reap_command() {
  if (!command_ || command_->pid <= 0) return;
  int status = 0;
  pid_t ended = ::waitpid(command_->pid, &status, WNOHANG);
  if (ended == 0) return;
  if (ended == command_->pid) command_status_ = status;
  command_->pid = -1;
}

// A process's last record comes a little before its parent can have its status.
void EbpfBackend::await_status() {
  if (!command_ || command_->pid <= 0) return;
  auto key = static_cast<uint32_t>(command_->pid);
  syscap_target target{};
  if (bpf_map_lookup_elem(probes_->map("targets"), &key, &target) == 0) return;  // it still runs
  for (int i = 0; i < kMostStatusWaits && command_->pid > 0; ++i) {
    reap_command();
    if (command_->pid > 0) sleep_ns(kNsPerMs);
  }
}

void EbpfBackend::hand_over_sums(CaptureSink& sink, int64_t second) {
  read_sums(probes_->map("sums"), probes_->map("errors"), deltas_);
  size_t nodes = context_.nodes;
  deltas_.take(second, [&](size_t node, const CallSum& sum) {
    if (node < nodes) sink.on_sum(node, sum);
  });
}

size_t EbpfBackend::processes_alive() const {
  if (!probes_) return 0;
  return static_cast<size_t>(__atomic_load_n(&probes_->shared().alive, __ATOMIC_ACQUIRE));
}

// Children are followed by the probes; whoever else comes into a group (a service that is started again) is looked for.
Status EbpfBackend::look_for_members() {
  const int64_t now = monotonic_now_ns();
  if (groups_.empty() || now - looked_at_ns_ < kNsPerSecond) return Ok{};
  looked_at_ns_ = now;
  for (const auto& [node, group] : groups_) {
    auto members = processes_of_cgroup(group);
    if (!members) continue;  // a stopped service has no group
    for (const ProcessId& process : *members) RETURN_IF_ERROR(targets_->add(process, node, true));
  }
  return Ok{};
}

Result<bool> EbpfBackend::turn(CaptureSink& sink, int64_t wait_ns) {
  CHECK(probes_) << "turn before start";
  RETURN_IF_ERROR(look_for_members());
  bool ended = processes_alive() == 0 && !newcomers_;
  consume(sink, kMostPerTurn);
  reap_command();
  int64_t second = wall_now_ns() / kNsPerSecond;
  if (sums_ && second != second_) {
    hand_over_sums(sink, second - 1);
    second_ = second;
  }
  if (ended && taken_ < kMostPerTurn) return false;
  if (taken_ < kMostPerTurn && wait_ns > 0) sleep_ns(std::min(wait_ns, kLookEvery));
  return true;
}

std::vector<int64_t> EbpfBackend::lost_per_cpu() const {
  int cpus = libbpf_num_possible_cpus();
  std::vector<uint64_t> counts(static_cast<size_t>(std::max(cpus, 1)));
  uint32_t key = 0;
  if (cpus <= 0 || bpf_map_lookup_elem(probes_->map("lost"), &key, counts.data()) != 0) return {};
  return {counts.begin(), counts.end()};
}

int64_t EbpfBackend::lost_so_far() const {
  if (!probes_) return 0;
  std::vector<int64_t> lost = lost_per_cpu();
  return std::accumulate(lost.begin(), lost.end(), int64_t{0});
}

// Blocks that were used again, and those whose end never showed.
std::vector<int64_t> EbpfBackend::unseen_per_node() {
  std::vector<int64_t> unseen(context_.nodes);
  for (uint32_t node = 0; node < unseen.size(); ++node) {
    uint64_t count = 0;
    if (bpf_map_lookup_elem(probes_->map("unseen"), &node, &count) == 0) unseen[node] = static_cast<int64_t>(count);
  }
  int map = probes_->map("aios");
  syscap_aio_key key{};
  syscap_request request{};
  const syscap_aio_key* before = nullptr;
  while (bpf_map_get_next_key(map, before, &key) == 0) {
    if (bpf_map_lookup_elem(map, &key, &request) == 0 && request.node < unseen.size()) ++unseen[request.node];
    before = &key;
  }
  return unseen;
}

void EbpfBackend::fill_report(CaptureReport& report) {
  syscap_shared& shared = probes_->shared();
  report.lost = lost_per_cpu();
  report.unseen = unseen_per_node();
  report.notes = targets_->notes();
  report.command_status = command_status_;
  uint64_t foreign = __atomic_load_n(&shared.foreign_calls, __ATOMIC_RELAXED);
  uint64_t overflows = __atomic_load_n(&shared.overflows, __ATOMIC_RELAXED);
  if (foreign != 0) report.notes.push_back(cat(foreign, " calls of 32-bit programs were not recorded"));
  if (overflows != 0)
    report.notes.push_back(cat("a table of the probes was full ", overflows,
                               " times: some processes, descriptors or requests are missing"));
  if (strange_ != 0) report.notes.push_back(cat(strange_, " records of the probes could not be read"));
  if (!groups_.empty()) report.notes.emplace_back(kLookedForNote);
  if (!probes_->follows_uring() && !sums_)
    report.notes.push_back("completions of io_uring are not in the log: this kernel does not show them");
}

Result<CaptureReport> EbpfBackend::stop(CaptureSink& sink) {
  CHECK(probes_) << "stop before start";
  await_status();
  probes_->detach();
  sleep_ns(kLastProbes);
  consume(sink, SIZE_MAX);
  Status rest = probes_->visit_rest();
  consume(sink, SIZE_MAX);
  if (sums_) hand_over_sums(sink, second_);
  reap_command();
  CaptureReport report;
  fill_report(report);
  if (!rest) report.notes.push_back(cat("calls that had not returned are missing: ", rest.error().message()));
  return report;
}

EbpfBackend::~EbpfBackend() = default;

std::unique_ptr<Backend> make() {
  return std::make_unique<EbpfBackend>();
}

}  // namespace

extern const BackendInfo backend_ebpf;
const BackendInfo backend_ebpf = {
    .name = "ebpf",
    .summary = "probes in the kernel: the least cost, everything seen; needs root and Linux 5.17",
    .check = check_ebpf,
    .make = make,
};

}  // namespace culprit
