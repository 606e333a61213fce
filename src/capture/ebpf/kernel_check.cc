#include "capture/ebpf/kernel_check.h"

#include <bpf/btf.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr int kMajor = 5;  // 5.17 brought bpf_loop, which walks paths
constexpr int kMinor = 17;
constexpr int kCapPerfmon = 38;
constexpr int kCapBpf = 39;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO: the same in every kernel
constexpr const char* kBtf = "/sys/kernel/btf/vmlinux";
constexpr const char* kHint = "use --backend ptrace";
constexpr const char* kRightsHint = "run as root, or use --backend ptrace";

struct FreeBtf {
  void operator()(btf* types) const { btf__free(types); }
};

// A tracepoint X is a typedef btf_trace_X of a pointer to a function, whose first parameter is not ours.
int arguments_of(const btf* types, const char* name) {
  int id = btf__find_by_name_kind(types, cat("btf_trace_", name).c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return -1;
  const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(id));
  for (int depth = 0; type && depth < 4; ++depth) {
    if (btf_is_func_proto(type)) return int{btf_vlen(type)} - 1;
    type = btf__type_by_id(types, type->type);
  }
  return -1;
}

Status check_rights() {
  if (::geteuid() == 0) return Ok{};
  auto status = read_file("/proc/self/status", 65536);
  if (status && has_capability(*status, kCapBpf) && has_capability(*status, kCapPerfmon)) return Ok{};
  return system_error("the ebpf backend needs the rights CAP_BPF and CAP_PERFMON", EPERM, kRightsHint);
}

}  // namespace

bool version_at_least(std::string_view release, int major, int minor) {
  int found_major = 0;
  int found_minor = 0;
  const char* end = release.data() + release.size();
  auto first = std::from_chars(release.data(), end, found_major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  auto second = std::from_chars(first.ptr + 1, end, found_minor);
  if (second.ec != std::errc()) return false;
  return found_major > major || (found_major == major && found_minor >= minor);
}

bool has_capability(std::string_view status, int number) {
  constexpr std::string_view kEffective = "CapEff:";
  std::string_view line;
  while (next_line(status, line)) {
    if (!line.starts_with(kEffective)) continue;
    std::string_view digits = trim(line.substr(kEffective.size()));
    uint64_t set = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), set, 16);
    return error == std::errc() && end == digits.data() + digits.size() && (set >> number & 1) != 0;
  }
  return false;
}

Status check_ebpf() {
  utsname kernel{};
  ::uname(&kernel);
  if (!version_at_least(kernel.release, kMajor, kMinor))
    return unsupported_error(
        cat("the ebpf backend needs Linux ", kMajor, ".", kMinor, " or later, this is ", printable(kernel.release)),
        kHint);
  if (::access(kBtf, R_OK) != 0)
    return unsupported_error("this kernel does not tell its types (no /sys/kernel/btf/vmlinux)",
                             "use --backend ptrace, or a kernel built with CONFIG_DEBUG_INFO_BTF");
  RETURN_IF_ERROR(check_rights());
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0 && space.st_ino != kFirstPidNamespace)
    return unsupported_error("the ebpf backend cannot run inside a pid namespace: the kernel has other process numbers",
                             "run it on the host, or use --backend ptrace");
  return Ok{};
}

Result<Tracepoints> look_at_tracepoints() {
  std::unique_ptr<btf, FreeBtf> types(btf__load_vmlinux_btf());
  if (!types) return system_error("cannot read the kernel's types", errno, kHint);
  Tracepoints found;
  found.process_exit = arguments_of(types.get(), "sched_process_exit");
  found.uring_submit_req = arguments_of(types.get(), "io_uring_submit_req");
  found.uring_submit_sqe = arguments_of(types.get(), "io_uring_submit_sqe");
  found.uring_complete = arguments_of(types.get(), "io_uring_complete");
  return found;
}

}  // namespace culprit
