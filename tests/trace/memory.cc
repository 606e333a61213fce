// Calls that map memory: their results are addresses, and one of their arguments is a descriptor in an unusual place.
#include "expect.h"

namespace {

constexpr long kSize = 65536;

void anonymous() {
  long at = CALL(mmap, nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CALL(mprotect, at, 4096, PROT_READ);
  CALL(madvise, at, kSize, MADV_DONTNEED);
  CALL(mremap, at, kSize, 2 * kSize, MREMAP_MAYMOVE, 0);  // EFAULT: its pages differ in protection
  CALL(munmap, 1, 4096);                                  // EINVAL
}

void of_a_file() {
  long fd = CALL(openat, AT_FDCWD, "mapped", O_RDWR | O_CREAT, 0600);
  CALL(ftruncate, fd, kSize);
  trace::on("mapped");
  long at = CALL(mmap, nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char* bytes = reinterpret_cast<char*>(at);
  memset(bytes, 'm', 100);  // no call: what is done through memory is not seen
  CALL(msync, at, 4096, MS_SYNC);
  CALL(munmap, at, kSize);
  CALL(close, fd);
  CALL(mmap, nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0);  // EBADF
}

void others() {
  long end = CALL(brk, 0);
  CALL(brk, end + 8192);
  CALL(brk, end);
  long fd = CALL(memfd_create, "in-memory", 0);
  CALL(ftruncate, fd, 100);
  trace::on("in-memory"), trace::asks(3);
  CALL(write, fd, "abc", 3);
  CALL(close, fd);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  anonymous();
  of_a_file();
  others();
  return trace::finish();
}
