// HotDep'09 err-files: the server's daemons may open no further file (EMFILE). The paper starts a server under a low
// limit; a running one is brought to the same state by lowering its soft limit to what it has open.
#include <dirent.h>

#include <memory>

#include "base/text.h"
#include "inject/limits.h"

namespace culprit {

namespace {

constexpr double kMostSpare = 1e6;

Result<rlim_t> choose(const FaultWork& work, const ProcessId& process) {
  ASSIGN_OR_RETURN(double spare, number_param(work.part, "spare", 0, kMostSpare));
  std::string path = cat(work.proc, "/", process.pid, "/fd");
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return system_error(cat("cannot read ", path), errno);
  std::vector<int> in_use;
  while (const dirent* entry = ::readdir(folder.get()))
    if (auto number = parse_int(entry->d_name)) in_use.push_back(static_cast<int>(*number));
  return descriptor_limit(std::move(in_use), static_cast<int64_t>(spare));
}

Status prepare(FaultWork& work) {
  RETURN_IF_ERROR(number_param(work.part, "spare", 0, kMostSpare));
  return note_services(work, Need::one);
}

Status apply(FaultWork& work) {
  return lower_limits(work, RLIMIT_NOFILE, choose);
}

Status undo(const FaultWork& work) {
  return raise_limits(work, RLIMIT_NOFILE);
}

Result<bool> active(const FaultWork& work) {
  return limits_are_lowered(work, RLIMIT_NOFILE);
}

}  // namespace

extern const FaultInfo fault_err_files;
const FaultInfo fault_err_files = {
    .name = "err_files",
    .summary = "the server's daemons can open no more files (EMFILE)",
    .kind = FaultClass::leased,
    .held = HeldBy::journal,
    .params = {{"spare", "COUNT", "0", "how many more they may open"}},
    .needs_daemons = true,
    .prepare = prepare,
    .apply = apply,
    .undo = undo,
    .active = active,
};

}  // namespace culprit
