#include "capture/ptrace/tracee_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "capture/proc_fd.h"

namespace culprit {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMostBuffers = 1024;  // of a vector: IOV_MAX
constexpr size_t kSomeBuffers = 16;    // read at once; most vectors have fewer
constexpr size_t kMostString = 4096;   // of a path, as the logs keep it

void* remote(uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

// Cut at page boundaries: the kernel copies whole pieces only, and a string may end just before an unmapped page.
size_t read_memory(pid_t thread, uint64_t address, void* out, size_t size) {
  constexpr size_t kMostPieces = 4;
  std::array<iovec, kMostPieces> pieces{};
  size_t used = 0;
  size_t planned = 0;
  while (planned < size && used < kMostPieces) {
    uint64_t at = address + planned;
    size_t length = std::min<size_t>(size - planned, kPage - at % kPage);
    pieces[used++] = {remote(at), length};
    planned += length;
  }
  iovec local{out, planned};
  ssize_t n = ::process_vm_readv(thread, &local, 1, pieces.data(), used, 0);
  return n < 0 ? 0 : static_cast<size_t>(n);
}

std::string read_string(pid_t thread, uint64_t address, size_t limit) {
  std::array<char, kMostString> text;
  size_t n = read_memory(thread, address, text.data(), std::min(limit, text.size()));
  return std::string(text.data(), ::strnlen(text.data(), n));
}

uint64_t vector_bytes(pid_t thread, uint64_t vector, uint64_t count) {
  std::array<iovec, kSomeBuffers> buffers;
  const size_t all = static_cast<size_t>(std::min<uint64_t>(count, kMostBuffers));
  uint64_t sum = 0;
  for (size_t done = 0; done < all; done += kSomeBuffers) {
    const size_t wanted = std::min(all - done, kSomeBuffers);
    const uint64_t at = vector + done * sizeof(iovec);
    const size_t whole = read_memory(thread, at, buffers.data(), wanted * sizeof(iovec)) / sizeof(iovec);
    for (size_t i = 0; i < whole; ++i) sum += buffers[i].iov_len;
    if (whole < wanted) break;
  }
  return sum;
}

uint64_t message_bytes(pid_t thread, uint64_t message) {
  msghdr header{};
  if (read_memory(thread, message, &header, sizeof header) != sizeof header) return 0;
  return vector_bytes(thread, reinterpret_cast<uint64_t>(header.msg_iov), header.msg_iovlen);
}

std::string read_endpoint(pid_t thread, uint64_t address, uint64_t length, int& family) {
  sockaddr_storage storage{};
  size_t wanted = static_cast<size_t>(std::min<uint64_t>(length, sizeof storage));
  size_t n = read_memory(thread, address, &storage, wanted);
  if (n < sizeof storage.ss_family) return "";
  family = storage.ss_family;
  return endpoint_text(storage, static_cast<socklen_t>(n));
}

}  // namespace culprit
