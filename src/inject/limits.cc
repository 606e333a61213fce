#include "inject/limits.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace culprit {

namespace {

__rlimit_resource as_resource(int resource) {
  return static_cast<__rlimit_resource>(resource);
}

// A process may change the limits of another with the same user and group. So a child takes the daemon's place for this
// one call: root without CAP_SYS_RESOURCE (containers) may not reach across users, but may become each of them.
int set_as(const Identity& identity, pid_t pid, int resource, const rlimit& limit) {
  pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    bool taken = ::setgroups(0, nullptr) == 0 && ::setresgid(identity.gid, identity.gid, identity.gid) == 0 &&
                 ::setresuid(identity.uid, identity.uid, identity.uid) == 0;
    ::_exit(taken && ::prlimit(pid, as_resource(resource), &limit, nullptr) == 0 ? 0 : errno & 0xff);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

Error gone(const ProcessId& process) {
  return system_error(cat("cannot see the limits of process ", process.pid), ESRCH);
}

}  // namespace

Result<rlimit> get_limit(const FaultWork& work, const ProcessId& process, int resource) {
  auto limits = limits_of(process.pid, work.proc);
  if (!limits || !is_alive(process, work.proc)) return gone(process);
  auto found = limits->find(resource);
  if (found == limits->end()) return input_error(cat("process ", process.pid, " does not say its limits"));
  return found->second;
}

Status set_soft_limit(const FaultWork& work, const ProcessId& process, int resource, rlim_t soft) {
  ASSIGN_OR_RETURN(rlimit limit, get_limit(work, process, resource));
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  if (::prlimit(process.pid, as_resource(resource), &limit, nullptr) == 0) return Ok{};
  int error = errno;
  if (error == EPERM) {
    ASSIGN_OR_RETURN(Identity identity, identity_of(process.pid, work.proc));
    error = set_as(identity, process.pid, resource, limit);
  }
  if (error == 0) return Ok{};
  return system_error(cat("cannot change the limits of process ", process.pid), error);
}

Status lower_limits(const FaultWork& work, int resource, ChooseLimit choose) {
  ASSIGN_OR_RETURN(std::vector<ProcessId> processes, noted_processes(work));
  for (const ProcessId& process : processes) {
    ASSIGN_OR_RETURN(rlimit now, get_limit(work, process, resource));
    ASSIGN_OR_RETURN(rlim_t soft, choose(work, process));
    if (soft < now.rlim_cur) RETURN_IF_ERROR(set_soft_limit(work, process, resource, soft));
  }
  return Ok{};
}

// A process that ended took its limit with it.
Status raise_limits(const FaultWork& work, int resource) {
  ASSIGN_OR_RETURN(std::vector<Service> services, noted_services(work));
  for (const Service& service : services) {
    auto old = service.limits.find(resource);
    auto now = get_limit(work, service.daemon.id, resource);
    if (!now || old == service.limits.end() || now->rlim_cur >= old->second.rlim_cur) continue;
    Status raised = set_soft_limit(work, service.daemon.id, resource, old->second.rlim_cur);
    if (!raised && is_alive(service.daemon.id, work.proc)) return raised;
  }
  return Ok{};
}

Result<bool> limits_are_lowered(const FaultWork& work, int resource) {
  ASSIGN_OR_RETURN(std::vector<Service> services, noted_services(work));
  for (const Service& service : services) {
    auto old = service.limits.find(resource);
    if (old == service.limits.end() || !is_alive(service.daemon.id, work.proc)) continue;
    auto now = get_limit(work, service.daemon.id, resource);
    if (!now && is_alive(service.daemon.id, work.proc)) return std::move(now).error();
    if (now && now->rlim_cur < old->second.rlim_cur) return true;
  }
  return false;
}

rlim_t descriptor_limit(std::vector<int> in_use, int64_t spare) {
  std::sort(in_use.begin(), in_use.end());
  int64_t limit = 0;
  for (int number : in_use) {
    if (number - limit > spare) break;  // the gap before it is too wide
    spare -= number - limit;
    limit = int64_t{number} + 1;
  }
  return static_cast<rlim_t>(limit + spare);
}

}  // namespace culprit
