// Which backend: by its name, or the best one that works here.
#include "capture/backend.h"

#include "base/text.h"

namespace culprit {

namespace {

const BackendInfo* look_for(std::string_view name) {
  for (const BackendInfo* backend : capture_backends())
    if (backend->name == name) return backend;
  return nullptr;
}

}  // namespace

Result<const BackendInfo*> find_backend(std::string_view name) {
  if (const BackendInfo* backend = look_for(name)) return backend;
  std::vector<std::string> names;
  for (const BackendInfo* backend : capture_backends()) names.emplace_back(backend->name);
  std::string near = did_you_mean(name, names);
  return usage_error(cat("there is no capture backend named '", printable(name), "'"),
                     near.empty() ? cat("there are ", join(names, ", ")) : cat("did you mean ", near, "?"));
}

Result<const BackendInfo*> best_backend(std::string& why) {
  why.clear();
  if (const BackendInfo* ebpf = look_for("ebpf")) {
    Status works = ebpf->check();
    if (works) return ebpf;
    why = works.error().message();
  } else {
    why = "this culprit was built without it";
  }
  ASSIGN_OR_RETURN(const BackendInfo* ptrace, find_backend("ptrace"));
  RETURN_IF_ERROR(ptrace->check());
  return ptrace;
}

}  // namespace culprit
