#include "inject/service.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/fd.h"
#include "base/procfile.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/part_text.h"
#include "inject/service_start.h"

namespace culprit {

namespace {

constexpr size_t kCommLength = 15;                 // the kernel cuts names there
constexpr size_t kMostDaemons = 64;                // of one node: more is a name that fits too many
constexpr int64_t kMostText = 128 << 10;           // of a command line or an environment: the kernel's own usual limit
constexpr size_t kMostNotes = 1 << 20;             // of all daemons: it must fit into a journal
constexpr int64_t kTermGrace = 10 * kNsPerSecond;  // a file server flushes first
constexpr int64_t kKillGrace = 20 * kNsPerSecond;  // in the middle of I/O it cannot die
constexpr int64_t kStartTimeout = 30 * kNsPerSecond;    // mfschunkserver looks through its chunks first
constexpr int64_t kCommandTimeout = 90 * kNsPerSecond;  // systemd's own default for starting
constexpr int64_t kSettled = 500 * kNsPerMs;            // alive that long: it did not end right after its start
constexpr int64_t kLookEvery = 20 * kNsPerMs;

struct LimitName {
  int resource;
  std::string_view name;  // in /proc/PID/limits
};
constexpr LimitName kLimits[] = {
    {RLIMIT_NOFILE, "Max open files"},     {RLIMIT_FSIZE, "Max file size"}, {RLIMIT_AS, "Max address space"},
    {RLIMIT_CORE, "Max core file size"},   {RLIMIT_NPROC, "Max processes"}, {RLIMIT_STACK, "Max stack size"},
    {RLIMIT_MEMLOCK, "Max locked memory"},
};

void pause_ns(int64_t ns) {
  timespec pause{ns / kNsPerSecond, ns % kNsPerSecond};
  ::nanosleep(&pause, nullptr);
}

std::vector<pid_t> process_numbers(const std::string& proc) {
  std::vector<pid_t> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(proc.c_str()), ::closedir);
  if (!folder) return numbers;
  while (const dirent* entry = ::readdir(folder.get())) {
    auto pid = parse_int(entry->d_name);
    if (pid && *pid > 0 && *pid <= INT_MAX) numbers.push_back(static_cast<pid_t>(*pid));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool is_wanted(std::string_view comm, const std::vector<std::string>& names) {
  for (std::string_view name : names) {
    name = name.substr(0, kCommLength);
    if (comm == name) return true;
    if (comm.size() > name.size() && comm.starts_with(name) && comm[name.size()] == '/')
      return true;  // some daemons append their main thread's name
  }
  return false;
}

// The network namespace of a process, by its number or "self"; 0 when it cannot be told. Nodes that are namespaces of
// one machine (`ip netns`) see each other's processes, and so does the machine with a lab on it.
template <class Process>
uint64_t network_of(const std::string& proc, const Process& process) {
  struct stat info {};
  return ::stat(cat(proc, "/", process, "/ns/net").c_str(), &info) == 0 ? info.st_ino : 0;
}

std::vector<std::string> zero_ended(std::string_view text) {
  std::vector<std::string> words;
  if (text.ends_with('\0')) text.remove_suffix(1);
  if (text.empty()) return words;
  for (std::string_view word : split(text, '\0')) words.emplace_back(word);
  return words;
}

// False when it is none of them, or has just ended.
bool look_at(pid_t pid, const std::string& proc, const std::vector<std::string>& names, RunningDaemon& daemon) {
  std::string folder = cat(proc, "/", pid);
  auto comm = read_file(folder + "/comm");
  if (!comm || !is_wanted(trim(*comm), names)) return false;
  auto id = identify_process(pid, proc);
  auto stat = read_file(folder + "/stat");
  auto argv = read_file(folder + "/cmdline", kMostText);
  int64_t parent = 0;
  if (!id || !stat || !argv || !stat_field(*stat, 4, parent)) return false;
  daemon.state = process_state(*id, proc);
  if (daemon.state == 0 || daemon.state == 'Z' || daemon.state == 'X') return false;
  daemon.id = *id;
  daemon.parent = static_cast<pid_t>(parent);
  daemon.comm = trim(*comm);
  daemon.argv = zero_ended(*argv);
  return true;
}

Result<std::string> link_target(const std::string& path) {
  char target[PATH_MAX];
  ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  if (n < 0) return system_error(cat("cannot read ", path), errno);
  std::string text(target, static_cast<size_t>(n));
  constexpr std::string_view kDeleted = " (deleted)";  // replaced by an update: the new one is started
  if (text.ends_with(kDeleted)) text.resize(text.size() - kDeleted.size());
  return text;
}

// The words of a line "Name:  1 2 3" of /proc/PID/status.
std::vector<std::string> status_words(std::string_view status, std::string_view name) {
  std::vector<std::string> words;
  std::string_view line;
  while (next_line(status, line)) {
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) words.emplace_back(word);
    break;
  }
  return words;
}

mode_t umask_of(pid_t pid, const std::string& proc) {
  auto status = read_file(cat(proc, "/", pid, "/status"));
  std::vector<std::string> words = status ? status_words(*status, "Umask:") : std::vector<std::string>();
  mode_t mask = 0;
  for (char c : words.empty() ? std::string("0022") : words[0])
    mask = (mask << 3) | (static_cast<mode_t>(c - '0') & 7U);
  return mask & 0777;
}

std::optional<rlim_t> limit_word(std::string_view word) {
  if (word == "unlimited") return RLIM_INFINITY;
  auto number = parse_int(word);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<rlim_t>(*number);
}

Result<Service> look_closely(const RunningDaemon& daemon, const std::string& proc) {
  std::string folder = cat(proc, "/", daemon.id.pid);
  Service service;
  service.daemon = daemon;
  ASSIGN_OR_RETURN(service.exe, link_target(folder + "/exe"));
  ASSIGN_OR_RETURN(service.cwd, link_target(folder + "/cwd"));
  ASSIGN_OR_RETURN(std::string environment, read_file(folder + "/environ", kMostText));
  service.environment = zero_ended(environment);
  ASSIGN_OR_RETURN(service.identity, identity_of(daemon.id.pid, proc));
  service.umask = umask_of(daemon.id.pid, proc);
  ASSIGN_OR_RETURN(service.limits, limits_of(daemon.id.pid, proc));
  if (daemon.argv.empty()) return unsupported_error(cat(daemon.comm, "/", daemon.id.pid, " has no command line"));
  return service;
}

std::string process_text(const Service& service) {
  std::string text = cat(format_process(service.daemon.id), " ", service.daemon.worker ? 1 : 0, " ",
                         service.identity.uid, " ", service.identity.gid, " ", service.umask);
  for (gid_t group : service.identity.groups) text += cat(" ", group);
  return text;
}

bool read_process_text(std::string_view text, Service& service) {
  std::array<int64_t, 6> head{};
  for (int64_t& number : head)
    if (!next_number(text, number) || number < 0) return false;
  if (head[0] < 1 || head[0] > INT_MAX) return false;
  service.daemon.id = {static_cast<pid_t>(head[0]), head[1]};
  service.daemon.worker = head[2] != 0;
  service.identity.uid = static_cast<uid_t>(head[3]);
  service.identity.gid = static_cast<gid_t>(head[4]);
  service.umask = static_cast<mode_t>(head[5]) & 0777;
  int64_t group = 0;
  while (next_number(text, group)) service.identity.groups.push_back(static_cast<gid_t>(group));
  return trim(text).empty();
}

// Numbers beyond int64 (RLIM_INFINITY) are written as -1.
std::string limits_text(const std::map<int, rlimit>& limits) {
  std::string text;
  for (const auto& [resource, limit] : limits)
    text += cat(resource, " ", static_cast<int64_t>(limit.rlim_cur), " ", static_cast<int64_t>(limit.rlim_max), " ");
  return std::string(trim(text));
}

std::map<int, rlimit> read_limits_text(std::string_view text) {
  std::map<int, rlimit> limits;
  int64_t resource = 0, soft = 0, hard = 0;
  while (next_number(text, resource) && next_number(text, soft) && next_number(text, hard))
    limits[static_cast<int>(resource)] = {static_cast<rlim_t>(soft), static_cast<rlim_t>(hard)};
  return limits;
}

std::string_view note(const FaultWork& work, const std::string& key) {
  auto found = work.notes.find(key);
  return found == work.notes.end() ? std::string_view() : std::string_view(found->second);
}

Result<Service> noted_service(const FaultWork& work, size_t number) {
  std::string key = cat("daemon", number);
  Service service;
  if (!read_process_text(note(work, key), service)) return input_error(cat("the journal's note ", key, " is damaged"));
  ASSIGN_OR_RETURN(std::vector<std::string> names, decode_words(note(work, key + ".names")));
  if (names.size() != 3) return input_error(cat("the journal's note ", key, ".names is damaged"));
  service.daemon.comm = names[0];
  service.exe = names[1];
  service.cwd = names[2];
  ASSIGN_OR_RETURN(service.daemon.argv, decode_words(note(work, key + ".argv")));
  ASSIGN_OR_RETURN(service.environment, decode_words(note(work, key + ".environment")));
  service.limits = read_limits_text(note(work, key + ".limits"));
  return service;
}

std::string describe(const std::vector<Service>& services) {
  std::vector<std::string> names;
  for (const Service& service : services) names.push_back(service.daemon.comm);
  return join(names, ", ");
}

// Until nothing is missing and what is there stays for a while.
Status wait_until_there(const FaultWork& work, int64_t timeout_ns) {
  int64_t end = monotonic_now_ns() + timeout_ns;
  int64_t whole_since = 0;
  std::set<pid_t> before;
  while (true) {
    ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
    std::set<pid_t> now_there;
    for (const RunningDaemon& daemon : find_daemons(work.proc, work.part.daemons)) now_there.insert(daemon.id.pid);
    int64_t now = monotonic_now_ns();
    if (!missing.empty() || now_there != before) whole_since = now;
    if (missing.empty() && now - whole_since >= kSettled) return Ok{};
    if (now >= end && !missing.empty())
      return unsupported_error(cat(describe(missing), " did not come back after its restart"),
                               "look into its log; --param restart=COMMAND says how it is started on this site");
    if (now >= end) return Ok{};
    before = std::move(now_there);
    pause_ns(kLookEvery);
  }
}

Status run_restart_command(const std::string& command) {
  ASSIGN_OR_RETURN(Output output, run_command({"/bin/sh", "-c", command}, kCommandTimeout));
  if (output.exit_code == 0) return Ok{};
  return unsupported_error(
      cat("the restart command ended with exit code ", output.exit_code, ": ", printable(trim(output.err), 200)));
}

}  // namespace

std::vector<RunningDaemon> find_daemons(const std::string& proc, const std::vector<std::string>& names) {
  std::vector<RunningDaemon> found;
  std::set<pid_t> numbers;
  uint64_t here = network_of(proc, "self");
  for (pid_t pid : process_numbers(proc)) {
    RunningDaemon daemon;
    if (!look_at(pid, proc, names, daemon)) continue;
    if (here != 0 && network_of(proc, pid) != here) continue;
    numbers.insert(pid);
    found.push_back(std::move(daemon));
  }
  for (RunningDaemon& daemon : found) daemon.worker = numbers.contains(daemon.parent);
  return found;
}

Result<Identity> identity_of(pid_t pid, const std::string& proc) {
  ASSIGN_OR_RETURN(std::string status, read_file(cat(proc, "/", pid, "/status")));
  std::vector<std::string> uids = status_words(status, "Uid:");
  std::vector<std::string> gids = status_words(status, "Gid:");
  if (uids.empty() || gids.empty()) return input_error(cat("process ", pid, " does not say whose it is"));
  Identity identity;
  identity.uid = static_cast<uid_t>(parse_int(uids[0]).value_or(0));
  identity.gid = static_cast<gid_t>(parse_int(gids[0]).value_or(0));
  for (const std::string& group : status_words(status, "Groups:"))
    identity.groups.push_back(static_cast<gid_t>(parse_int(group).value_or(0)));
  return identity;
}

// From the file and not by prlimit(2), which asks for CAP_SYS_RESOURCE across users even to read.
Result<std::map<int, rlimit>> limits_of(pid_t pid, const std::string& proc) {
  ASSIGN_OR_RETURN(std::string text, read_file(cat(proc, "/", pid, "/limits")));
  std::map<int, rlimit> limits;
  std::string_view rest = text, line;
  while (next_line(rest, line)) {
    for (const LimitName& known : kLimits) {
      if (!line.starts_with(known.name)) continue;
      std::string_view numbers = line.substr(known.name.size());
      auto soft = limit_word(next_word(numbers)), hard = limit_word(next_word(numbers));
      if (soft && hard) limits[known.resource] = {*soft, *hard};
    }
  }
  return limits;
}

Status note_services(FaultWork& work, Need need) {
  size_t count = 0, bytes = 0;
  for (const RunningDaemon& daemon : find_daemons(work.proc, work.part.daemons)) {
    auto service = look_closely(daemon, work.proc);
    if (!service && !is_alive(daemon.id, work.proc)) continue;  // it ended meanwhile
    if (!service) return std::move(service).error();
    std::string key = cat("daemon", count++);
    work.notes[key] = process_text(*service);
    work.notes[key + ".names"] = encode_words({daemon.comm, service->exe, service->cwd});
    work.notes[key + ".argv"] = encode_words(daemon.argv);
    work.notes[key + ".environment"] = encode_words(service->environment);
    work.notes[key + ".limits"] = limits_text(service->limits);
    bytes += work.notes[key + ".argv"].size() + work.notes[key + ".environment"].size();
  }
  work.notes["daemons"] = cat(count);
  if (count == 0 && need == Need::one)
    return unsupported_error(cat("no daemon of the file system runs on ", work.part.node,
                                 work.part.daemons.empty() ? "" : ": looked for ", join(work.part.daemons, ", ")),
                             "name them in cluster.toml: daemons = [\"NAME\"], as in /proc/PID/comm");
  if (count > kMostDaemons)
    return unsupported_error(cat(count, " processes have the daemons' names; at most ", kMostDaemons, " can be kept"));
  if (bytes > kMostNotes) return unsupported_error("the daemons' command lines and environments are too long to keep");
  return Ok{};
}

Result<std::vector<Service>> noted_services(const FaultWork& work) {
  std::vector<Service> services;
  auto count = parse_int(note(work, "daemons"));
  if (note(work, "daemons").empty()) return services;  // prepare did not come that far
  if (!count || *count < 0 || *count > static_cast<int64_t>(kMostDaemons))
    return input_error("the journal's note daemons is damaged");
  for (size_t i = 0; i < static_cast<size_t>(*count); ++i) {
    ASSIGN_OR_RETURN(Service service, noted_service(work, i));
    services.push_back(std::move(service));
  }
  return services;
}

Result<std::vector<Service>> missing_services(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Service> services, noted_services(work));
  std::vector<RunningDaemon> there = find_daemons(work.proc, work.part.daemons);
  std::vector<Service> missing;
  for (Service& service : services) {
    if (service.daemon.worker) continue;
    auto same = std::find_if(there.begin(), there.end(), [&](const RunningDaemon& daemon) {
      return !daemon.worker && daemon.comm == service.daemon.comm && daemon.argv == service.daemon.argv;
    });
    if (same == there.end())
      missing.push_back(std::move(service));
    else
      there.erase(same);  // two daemons with one command line are two
  }
  return missing;
}

Result<std::vector<ProcessId>> noted_processes(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Service> services, noted_services(work));
  std::vector<ProcessId> processes;
  for (const Service& service : services)
    if (is_alive(service.daemon.id, work.proc)) processes.push_back(service.daemon.id);
  return processes;
}

Status stop_services(const FaultWork& work) {
  std::vector<RunningDaemon> daemons = find_daemons(work.proc, work.part.daemons);
  for (const RunningDaemon& daemon : daemons) {
    signal_process(daemon.id, SIGTERM);
    signal_process(daemon.id, SIGCONT);  // a stopped one would not hear it
  }
  int64_t end = monotonic_now_ns() + kTermGrace;
  for (const RunningDaemon& daemon : daemons) {
    if (wait_gone(daemon.id, std::max<int64_t>(end - monotonic_now_ns(), 0))) continue;
    signal_process(daemon.id, SIGKILL);
  }
  end = monotonic_now_ns() + kKillGrace;
  for (const RunningDaemon& daemon : daemons) {
    if (wait_gone(daemon.id, std::max<int64_t>(end - monotonic_now_ns(), 0))) continue;
    return unsupported_error(
        cat(daemon.comm, "/", daemon.id.pid, " does not die: its state is ", process_state(daemon.id, work.proc)));
  }
  return Ok{};
}

Status restart_services(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
  if (missing.empty()) return Ok{};
  std::string command = word_param(work.part, kRestartParam.name);
  if (!command.empty()) {
    RETURN_IF_ERROR(run_restart_command(command));
  } else {
    for (const Service& service : missing) RETURN_IF_ERROR(start_service(service));
  }
  return wait_until_there(work, kStartTimeout);
}

std::string encode_words(const std::vector<std::string>& words) {
  std::vector<std::string> coded;
  for (const std::string& word : words) coded.push_back(escape_word(word));
  return join(coded, " ");
}

Result<std::vector<std::string>> decode_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view coded = next_word(text); !coded.empty(); coded = next_word(text)) {
    ASSIGN_OR_RETURN(std::string word, unescape_word(coded));
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace culprit
