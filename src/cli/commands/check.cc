// culprit check: what works on this machine with these privileges, and why not. Everything is found out by trying.
#include <sched.h>
#include <sqlite3.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/backend.h"
#include "cli/command.h"
#include "hosts/deploy.h"
#include "inject/fault.h"
#include "lab/lab_fs.h"
#include "sample/collector.h"

namespace culprit {
namespace {

struct Finding {
  std::string name;
  bool ok = false;
  std::string detail;  // what is there, or why not
  std::string hint = "";
};

Finding not_ok(std::string name, const Error& error) {
  return {std::move(name), false, error.message(), error.hint};
}

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = cat(folder, "/", name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

Finding check_program(const std::string& name, std::string_view purpose, std::string_view package) {
  std::string path = find_program(name);
  if (!path.empty()) return {name, true, cat(path, ", ", purpose)};
  return {name, false, cat("not in PATH; needed for ", purpose), cat("install the package ", package)};
}

Finding check_root() {
  if (geteuid() == 0) return {"root", true, "running as root"};
  return {"root", false, "running as an ordinary user: daemons of other users cannot be read", "run as root"};
}

Finding check_kernel() {
  utsname names = {};
  uname(&names);
  return {"kernel", true, cat(std::string_view(names.sysname), " ", names.release, " ", names.machine)};
}

// In a child, because there is no way back out of a new namespace.
Finding check_namespaces() {
  pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWNET) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return {"namespaces", false, "cannot start a process to try it"};
  }
  if (WEXITSTATUS(status) == 0) return {"namespaces", true, "network namespaces can be made (ns: nodes)"};
  return not_ok("namespaces", system_error("cannot make a network namespace", WEXITSTATUS(status), "run as root"));
}

Finding check_psi() {
  Result<std::string> text = read_file("/proc/pressure/io");
  if (text) return {"psi", true, "/proc/pressure says how long tasks waited for CPU, I/O and memory"};
  Error error = text.error();
  error.hint = "boot a kernel with CONFIG_PSI, and psi=1 on its command line";
  return not_ok("psi", error);
}

Finding check_node_sampler() {
  Result<Program> program = find_node_program();
  if (!program) return not_ok("culprit-node", program.error());
  return {"culprit-node", true, cat(program->path, ", the sampler that is sent to nodes")};
}

Finding check_sqlite() {
  return {"sqlite", true, cat("version ", sqlite3_libversion())};
}

Finding check_clock() {
  timex state = {};
  if (adjtimex(&state) < 0) return not_ok("clock", system_error("cannot ask the kernel about its clock", errno));
  if ((state.status & STA_UNSYNC) == 0) {
    return {"clock", true, cat("synchronised, error at most ", format_duration(int64_t{state.maxerror} * kNsPerUs))};
  }
  return {"clock", false, "not synchronised; culprit measures the offsets between nodes itself",
          "run chrony or ntpd on every node"};
}

std::vector<Finding> check_collectors(const SampleEnv& env) {
  std::vector<Finding> findings;
  for (const CollectorInfo* collector : sample_collectors()) {
    std::string name = cat("collector ", collector->name);
    Status works = collector->probe(env);
    findings.push_back(works ? Finding{name, true, std::string(collector->summary)} : not_ok(name, works.error()));
  }
  return findings;
}

std::vector<Finding> check_rest() {
  return {check_root(),
          check_kernel(),
          check_clock(),
          check_psi(),
          check_node_sampler(),
          check_program("ssh", "reaching ssh: nodes", "openssh-client"),
          check_program("nsenter", "reaching ns: nodes", "util-linux"),
          check_namespaces(),
          check_sqlite()};
}

std::vector<Finding> check_labs() {
  std::vector<Finding> findings;
  for (const LabFs* fs : lab_filesystems()) {
    std::string name = cat("lab ", fs->name);
    Status works = can_run_lab(*fs, "xfs");
    findings.push_back(works ? Finding{name, true, std::string(fs->summary)} : not_ok(name, works.error()));
  }
  return findings;
}

std::vector<Finding> check_backends() {
  std::vector<Finding> findings;
  for (const BackendInfo* backend : capture_backends()) {
    std::string name = cat("backend ", backend->name);
    Status works = backend->check();
    findings.push_back(works ? Finding{name, true, std::string(backend->summary)} : not_ok(name, works.error()));
  }
  return findings;
}

// The faults of this machine as a node: each needs root and its programs. Which disks and daemons there are is looked
// at when one is injected.
Finding check_faults() {
  if (geteuid() != 0) return {"faults", false, "breaking something needs root", "run as root"};
  std::vector<std::string> lacking;
  for (const FaultInfo* fault : inject_faults())
    for (std::string_view tool : fault->tools)
      if (find_program(tool).empty()) lacking.push_back(cat(fault->name, " (", tool, ")"));
  if (lacking.empty())
    return {"faults", true, cat("the programs of all ", inject_faults().size(), " faults are there")};
  return {"faults", false, cat("programs are missing for ", join(lacking, ", ")),
          "install them where a fault is wanted"};
}

std::string as_text(const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  std::string out;
  for (const Finding& finding : findings) {
    out += cat(finding.ok ? "ok  " : "no  ", finding.name, std::string(width - finding.name.size() + 2, ' '));
    out += cat(finding.detail, finding.hint.empty() ? "" : "; hint: ", finding.hint, "\n");
  }
  return out;
}

std::string as_json(const std::vector<Finding>& findings, bool recording) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& f : findings) {
    rows.push_back({{"name", f.name}, {"ok", f.ok}, {"detail", f.detail}, {"hint", f.hint}});
  }
  nlohmann::ordered_json out = {{"recording", recording}, {"findings", rows}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<int> run(const Args& args) {
  std::vector<Finding> findings = check_collectors(SampleEnv{});
  auto working = std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.ok; });
  size_t collectors = findings.size();
  for (Finding& finding : check_rest()) findings.push_back(std::move(finding));
  for (Finding& finding : check_backends()) findings.push_back(std::move(finding));
  for (Finding& finding : check_labs()) findings.push_back(std::move(finding));
  findings.push_back(check_faults());
  print(args.has("json") ? as_json(findings, working > 0) : as_text(findings));
  if (working == 0) {
    return unsupported_error("nothing can be recorded on this machine", "culprit reads Linux's /proc and /sys");
  }
  if (!args.has("json")) {
    print(cat("\nrecording works here with ", working, " of ", collectors, " collectors\n"));
    print("next: culprit record --for 60s --out NAME.run\n");
  }
  return kExitHealthy;
}

}  // namespace

extern const CommandInfo command_check{
    .name = "check",
    .summary = "what works on this machine with these privileges, and why not",
    .options = {{.name = "json", .help = "as JSON"}},
    .text = "Exit code 0 when anything can be recorded here, 1 otherwise.",
    .run = run,
    .group = Group::about,
};

}  // namespace culprit
