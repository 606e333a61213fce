// AIO whose completions are taken from the ring in memory, as libaio does when it can: no call tells of them. A tracer
// cannot see these completions, but it must be able to say how many they were.
#include <linux/aio_abi.h>

#include "expect.h"

namespace {

constexpr int kRequests = 3;
constexpr unsigned kMagic = 0xa10a10a1;

struct Ring {  // as the kernel lays it out at the address that is the context
  unsigned id, size;
  std::atomic<unsigned> head, tail;
  unsigned magic, compatible, incompatible, header_bytes;
  io_event events[];
};

iocb request(long fd, void* buffer, int number) {
  iocb made{};
  made.aio_lio_opcode = IOCB_CMD_PWRITE;
  made.aio_fildes = static_cast<__u32>(fd);
  made.aio_buf = reinterpret_cast<__u64>(buffer);
  made.aio_nbytes = 512;
  made.aio_offset = number * 512;
  made.aio_data = static_cast<__u64>(number);
  return made;
}

// Buffered writes are complete when io_submit returns: nothing has to be waited for.
int reap_in_memory(aio_context_t context) {
  Ring* ring = reinterpret_cast<Ring*>(context);
  if (ring->magic != kMagic) trace::die("aio_ring: the ring is not where it should be");
  int reaped = 0;
  for (unsigned head = ring->head; head != ring->tail; head = ring->head) {
    if (ring->events[head].res == 512) ++reaped;
    ring->head = (head + 1) % ring->size;
  }
  return reaped;
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  static char text[512];
  long fd = CALL(openat, AT_FDCWD, "ring", O_RDWR | O_CREAT | O_TRUNC, 0600);
  aio_context_t context = 0;
  if (CALL(io_setup, kRequests, &context) < 0) return trace::finish();
  static iocb requests[kRequests];
  iocb* list[kRequests];
  for (int i = 0; i < kRequests; ++i) {
    requests[i] = request(fd, text, i);
    list[i] = &requests[i];
  }
  CALL(io_submit, context, kRequests, list);
  if (reap_in_memory(context) != kRequests) trace::die("aio_ring: the completions are not in the ring");
  trace::Line line;
  line.add("UNSEEN %d", kRequests);
  line.end();
  CALL(close, fd);
  return trace::finish();  // the context goes with the process
}
