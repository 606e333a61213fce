// Kernel AIO by its raw calls: each completion is an event of its own, with the request it belongs to.
#include <linux/aio_abi.h>
#include <sys/uio.h>

#include "expect.h"

namespace {

constexpr size_t kRequests = 4;

iocb request(int opcode, long fd, void* buffer, size_t bytes, long offset, unsigned long data) {
  iocb made{};
  made.aio_lio_opcode = static_cast<__u16>(opcode);
  made.aio_fildes = static_cast<__u32>(fd);
  made.aio_buf = reinterpret_cast<__u64>(buffer);
  made.aio_nbytes = bytes;
  made.aio_offset = offset;
  made.aio_data = data;
  return made;
}

void note_completion(const io_event& event) {
  const iocb* done = reinterpret_cast<const iocb*>(event.obj);
  __u64 bytes = done->aio_nbytes;
  if (done->aio_lio_opcode == IOCB_CMD_PWRITEV) {
    const iovec* parts = reinterpret_cast<const iovec*>(done->aio_buf);
    bytes = 0;
    for (__u64 i = 0; i < done->aio_nbytes; ++i) bytes += parts[i].iov_len;
  }
  trace::Line line;
  line.add("AIO %10ld %d %d %6llu %6lld %016llx = %20lld", trace::thread_id(), done->aio_lio_opcode, done->aio_fildes,
           bytes, done->aio_offset, event.data, event.res);
  line.end();
}

void reap(aio_context_t context, long wanted) {
  io_event events[kRequests] = {};
  long got = CALL(io_getevents, context, wanted, kRequests, events, nullptr);
  for (long i = 0; i < got; ++i) note_completion(events[i]);
}

void submit(aio_context_t context, iocb& one) {
  iocb* list[] = {&one};
  CALL(io_submit, context, 1, list);
  reap(context, 1);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  static char text[4096], back[8192];
  long fd = CALL(openat, AT_FDCWD, "aio", O_RDWR | O_CREAT | O_TRUNC, 0600);
  aio_context_t context = 0;
  if (CALL(io_setup, kRequests, &context) < 0) return trace::finish();  // not every kernel has it
  iocb first = request(IOCB_CMD_PWRITE, fd, text, sizeof text, 0, 0x11);
  iocb second = request(IOCB_CMD_PWRITE, fd, text, 100, 4096, 0x22);
  iocb* both[] = {&first, &second};
  CALL(io_submit, context, 2, both);
  reap(context, 2);
  iovec parts[] = {{text, 100}, {text, 50}};
  iocb gathering = request(IOCB_CMD_PWRITEV, fd, parts, 2, 4096, 0x23);
  submit(context, gathering);
  iocb reading = request(IOCB_CMD_PREAD, fd, back, sizeof back, 0, 0x33);
  submit(context, reading);  // short: 4246 of 8192
  iocb syncing = request(IOCB_CMD_FSYNC, fd, nullptr, 0, 0, 0x44);
  submit(context, syncing);
  iocb wrong = request(IOCB_CMD_PREAD, 77, back, 10, 0, 0x55);
  iocb* list[] = {&wrong};
  CALL(io_submit, context, 1, list);  // EBADF, and no completion
  CALL(io_destroy, context);
  CALL(close, fd);
  return trace::finish();
}
