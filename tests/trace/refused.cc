// Calls that a seccomp filter of the program's own answers: the kernel never enters them, and they return all the same.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <iterator>

#include "expect.h"

namespace {

constexpr unsigned short kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr unsigned short kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr unsigned short kGive = BPF_RET | BPF_K;

// fsync fails with EIO, mkdirat with EPERM, fdatasync is said to be well; a comparison that fails skips one row.
sock_filter rows[] = {
    {kLoad, 0, 0, offsetof(seccomp_data, nr)}, {kIfEqual, 0, 1, SYS_fsync},
    {kGive, 0, 0, SECCOMP_RET_ERRNO | EIO},    {kIfEqual, 0, 1, SYS_mkdirat},
    {kGive, 0, 0, SECCOMP_RET_ERRNO | EPERM},  {kIfEqual, 0, 1, SYS_fdatasync},
    {kGive, 0, 0, SECCOMP_RET_ERRNO | 0},      {kGive, 0, 0, SECCOMP_RET_ALLOW},
};

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  long fd = CALL(openat, AT_FDCWD, "refused-file", O_RDWR | O_CREAT, 0600);
  CALL(fsync, fd);
  sock_fprog program{static_cast<unsigned short>(std::size(rows)), rows};
  CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (CALL(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return trace::finish();
  trace::on("refused-file");
  CALL(fsync, fd);
  trace::fails_on("refused-folder");
  CALL(mkdirat, AT_FDCWD, "refused-folder", 0700);
  trace::on("refused-file");
  CALL(fdatasync, fd);
  CALL(close, fd);
  return trace::finish();
}
