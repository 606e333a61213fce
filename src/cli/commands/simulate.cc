// culprit simulate: a run from a model, for tests, examples and scale. It says on every screen that it proves nothing.
#include "simulate/simulate.h"

#include <functional>
#include <limits>

#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"

namespace culprit {
namespace {

constexpr int64_t kMaxTicks = 10'000'000;
constexpr int64_t kProgressNs = 3 * kNsPerSecond;

Result<SimulationRequest> request_of(const Args& args) {
  SimulationRequest request;
  ASSIGN_OR_RETURN(const int64_t servers, args.integer("servers", 1, kMaxServers));
  ASSIGN_OR_RETURN(const int64_t clients, args.integer("clients", 1, kMaxClients));
  ASSIGN_OR_RETURN(const int64_t seed, args.integer("seed", 0, std::numeric_limits<int64_t>::max()));
  ASSIGN_OR_RETURN(request.ticks, args.integer("ticks", 2, kMaxTicks));
  ASSIGN_OR_RETURN(request.interval_ns, args.duration("interval"));
  ASSIGN_OR_RETURN(request.fault_from, args.integer("fault-from", 0, kMaxTicks));
  ASSIGN_OR_RETURN(request.fault_for, args.integer("fault-for", 1, kMaxTicks));
  ASSIGN_OR_RETURN(request.spread, args.number("spread", 0, 2));
  request.servers = static_cast<int>(servers);
  request.clients = static_cast<int>(clients);
  request.seed = static_cast<uint64_t>(seed);
  request.workload = args.get("workload");
  request.fault = args.get("fault");
  request.on = args.get("on");
  return request;
}

std::string length_words(const SimulationRequest& request) {
  const int64_t length_ns = request.ticks * request.interval_ns;
  return length_ns % kNsPerSecond == 0 ? cat(length_ns / kNsPerSecond, " s") : format_duration(length_ns);
}

std::string fault_words(const SimulationRequest& request) {
  return request.on.empty() ? std::string("no fault") : cat(request.fault, " on ", request.on);
}

// The command that makes the same run again.
std::string command_line(const SimulationRequest& r, const Args& args) {
  std::string line = cat("culprit simulate --servers ", r.servers, " --clients ", r.clients, " --workload ", r.workload,
                         " --fault ", r.fault);
  if (!r.on.empty())
    line += cat(" --on ", r.on, " --fault-from ", args.get("fault-from"), " --fault-for ", args.get("fault-for"));
  return line + cat(" --seed ", args.get("seed"), " --ticks ", r.ticks, " --interval ", args.get("interval"),
                    " --spread ", args.get("spread"));
}

// A line every few seconds, so that short runs stay silent.
std::function<void(int64_t)> progress_lines(int64_t ticks) {
  return [ticks, next_ns = monotonic_now_ns() + kProgressNs](int64_t done) mutable {
    if (monotonic_now_ns() < next_ns) return;
    next_ns += kProgressNs;
    say(cat("simulated ", done, " of ", ticks, " ticks"));
  };
}

Result<int> run(const Args& args) {
  ASSIGN_OR_RETURN(const SimulationRequest request, request_of(args));
  ASSIGN_OR_RETURN(const SimulationPlan plan, make_plan(request));
  const auto progress = progress_lines(request.ticks);
  ASSIGN_OR_RETURN(const std::string path, simulate_run(plan, args.get("out"), command_line(request, args), progress));
  print(cat("simulated ", length_words(request), " of ", request.servers,
            request.servers == 1 ? " server (" : " servers (", request.workload, ", ", fault_words(request), ", seed ",
            args.get("seed"), "): no evidence of accuracy, for tests and examples\n"));
  say(cat("next: culprit diagnose ", path));
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_simulate{
    .name = "simulate",
    .summary = "make a run from a model, for tests, examples and scale; never evidence of accuracy",
    .options =
        {
            {.name = "servers", .value = "N", .fallback = "5", .help = "servers s1 to sN"},
            {.name = "clients",
             .value = "M",
             .fallback = "2",
             .help = "clients c1 to cM, each connected to every server"},
            {.name = "workload", .value = "NAME", .fallback = "ddw", .help = "ddw, ddr, iozonew, iozoner or postmark"},
            {.name = "fault",
             .value = "NAME",
             .fallback = "none",
             .help = "none, disk_hog, disk_busy, write_network_hog, read_network_hog, receive_pktloss or send_pktloss"},
            {.name = "on", .value = "SERVER", .help = "the victim"},
            {.name = "fault-from", .value = "TICK", .fallback = "120", .help = "the fault begins at this tick"},
            {.name = "fault-for", .value = "TICKS", .fallback = "300", .help = "and lasts so many"},
            {.name = "seed", .value = "S", .fallback = "1", .help = "the same seed gives the same run"},
            {.name = "ticks", .value = "N", .fallback = "600", .help = "length of the run"},
            {.name = "interval", .value = "TIME", .fallback = "1s", .help = "time between two ticks"},
            {.name = "spread",
             .value = "X",
             .fallback = "0.05",
             .help = "how much healthy servers differ; 0.05 is 5 %"},
            {.name = "out", .value = "RUN", .help = "the run to write", .required = true},
        },
    .text =
        "Example:\n"
        "  culprit simulate --servers 5 --workload ddw --fault disk_hog --on s3 --seed 7 --out hog\n"
        "Faults and workloads are tables of plausible factors: docs/simulate.md.\n",
    .run = run,
};

}  // namespace culprit
