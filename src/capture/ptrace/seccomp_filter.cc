#include "capture/ptrace/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace culprit {

namespace {

sock_filter load(size_t offset) {
  return {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)};
}

sock_filter give(uint32_t action) {
  return {BPF_RET | BPF_K, 0, 0, action};
}

// When the comparison with `value` is true, the next row is skipped.
sock_filter skip_if(uint16_t comparison, uint32_t value) {
  return {static_cast<uint16_t>(BPF_JMP | BPF_K | comparison), 1, 0, value};
}

bool install(const sock_fprog& program) {
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace

// Ranges come in ascending order, so a number below the next range is in none. Four rows each, and 512 numbers make at
// most 256 ranges: far below the kernel's 4096 rows, and no jump is longer than one row.
std::vector<sock_filter> make_filter(const CallSet& calls) {
  std::vector<sock_filter> rows = {load(offsetof(seccomp_data, arch)), skip_if(BPF_JEQ, AUDIT_ARCH_X86_64),
                                   give(SECCOMP_RET_TRACE), load(offsetof(seccomp_data, nr))};
  for (size_t first = 0; first < calls.size(); ++first) {
    if (!calls.test(first)) continue;
    size_t last = first;
    while (last + 1 < calls.size() && calls.test(last + 1)) ++last;
    rows.push_back(skip_if(BPF_JGE, static_cast<uint32_t>(first)));
    rows.push_back(give(SECCOMP_RET_ALLOW));
    rows.push_back(skip_if(BPF_JGT, static_cast<uint32_t>(last)));
    rows.push_back(give(SECCOMP_RET_TRACE));
    first = last;
  }
  rows.push_back(give(SECCOMP_RET_ALLOW));
  return rows;
}

int install_filter(const std::vector<sock_filter>& rows) {
  sock_fprog program{static_cast<unsigned short>(rows.size()), const_cast<sock_filter*>(rows.data())};
  if (install(program)) return 0;
  if (errno != EACCES) return errno;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !install(program)) return errno;
  return 0;
}

}  // namespace culprit
