// Offsets that need more than 32 bits, and the largest there are. The file is sparse: it needs a few pages.
#include <sys/uio.h>

#include "expect.h"

namespace {

constexpr long kFar = 5L << 30;  // 5 GB: neither a signed nor an unsigned 32-bit number

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  char text[] = "far away", back[16];
  iovec vector[] = {{back, 8}};
  long fd = CALL(openat, AT_FDCWD, "sparse", O_RDWR | O_CREAT | O_TRUNC, 0644);
  trace::on("sparse"), trace::asks(8);
  CALL(pwrite64, fd, text, 8, kFar);
  trace::on("sparse"), trace::asks(8);
  CALL(pread64, fd, back, 8, kFar);
  trace::asks(8);
  CALL(preadv, fd, vector, 1, kFar, 0);
  CALL(lseek, fd, kFar + 3, SEEK_SET);
  trace::asks(16);
  CALL(read, fd, back, 16);  // 5 are left
  CALL(lseek, fd, 0, SEEK_END);
  CALL(ftruncate, fd, kFar * 2);
  CALL(lseek, fd, -1, SEEK_END);
  CALL(fallocate, fd, 3, kFar, 4096);  // punches a hole, keeps the size
  CALL(pread64, fd, back, 8, -1L);     // EINVAL
  CALL(ftruncate, fd, 0);
  CALL(close, fd);
  return trace::finish();
}
