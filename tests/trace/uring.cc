// io_uring by its raw calls, one request at a time: the completion carries the number that the program gave the
// request.
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "expect.h"

namespace {

class Uring {
 public:
  // False where the kernel has none or does not allow it.
  bool open() {
    io_uring_params params{};
    fd_ = CALL(io_uring_setup, 4, &params);
    if (fd_ < 0) return false;
    submissions_ = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    completions_ = map(params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe), IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    sq_ = params.sq_off;
    cq_ = params.cq_off;
    return true;
  }

  // Submits it, and waits for as many completions.
  void submit(const io_uring_sqe& wanted, unsigned awaited) {
    unsigned tail = *word(submissions_, sq_.tail);
    unsigned slot = tail & *word(submissions_, sq_.ring_mask);
    entries_[slot] = wanted;
    word(submissions_, sq_.array)[slot] = slot;
    __atomic_store_n(word(submissions_, sq_.tail), tail + 1, __ATOMIC_RELEASE);
    CALL(io_uring_enter, fd_, 1, awaited, awaited > 0 ? IORING_ENTER_GETEVENTS : 0, nullptr, 0);
  }

  // Takes all completions that are there, and says how many.
  unsigned drop() {
    unsigned head = *word(completions_, cq_.head);
    unsigned tail = __atomic_load_n(word(completions_, cq_.tail), __ATOMIC_ACQUIRE);
    __atomic_store_n(word(completions_, cq_.head), tail, __ATOMIC_RELEASE);
    return tail - head;
  }

  // Submits it, waits for its completion and tells of it.
  void run(const io_uring_sqe& wanted) {
    submit(wanted, 1);
    unsigned head = *word(completions_, cq_.head);
    if (head == __atomic_load_n(word(completions_, cq_.tail), __ATOMIC_ACQUIRE)) trace::die("uring: no completion");
    const io_uring_cqe* all = reinterpret_cast<const io_uring_cqe*>(completions_ + cq_.cqes);
    note(wanted, all[head & *word(completions_, cq_.ring_mask)]);
    __atomic_store_n(word(completions_, cq_.head), head + 1, __ATOMIC_RELEASE);
  }

  void close() { CALL(close, fd_); }

 private:
  char* map(size_t bytes, long what) {
    long at = trace::raw(SYS_mmap, 0, trace::reg(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what);
    if (at < 0 && at > -4096) trace::die("uring: the ring cannot be mapped");
    return reinterpret_cast<char*>(at);
  }
  static unsigned* word(char* ring, unsigned offset) { return reinterpret_cast<unsigned*>(ring + offset); }
  static long bytes_of(const io_uring_sqe& wanted) {
    if (wanted.opcode == IORING_OP_READ || wanted.opcode == IORING_OP_WRITE) return wanted.len;
    if (wanted.opcode != IORING_OP_WRITEV) return -1;
    long sum = 0;
    const iovec* parts = reinterpret_cast<const iovec*>(wanted.addr);
    for (unsigned i = 0; i < wanted.len; ++i) sum += static_cast<long>(parts[i].iov_len);
    return sum;
  }
  static void note(const io_uring_sqe& wanted, const io_uring_cqe& done) {
    trace::Line line;
    line.add("URING %10ld %d %d %6ld %016llx = %20d", trace::thread_id(), wanted.opcode, wanted.fd, bytes_of(wanted),
             done.user_data, done.res);
    line.end();
  }

  long fd_ = -1;
  char* submissions_ = nullptr;
  char* completions_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  io_sqring_offsets sq_{};
  io_cqring_offsets cq_{};
};

io_uring_sqe request(int opcode, long fd, void* buffer, unsigned bytes, unsigned long offset, unsigned long data) {
  io_uring_sqe made{};
  made.opcode = static_cast<__u8>(opcode);
  made.fd = static_cast<__s32>(fd);
  made.addr = reinterpret_cast<__u64>(buffer);
  made.len = bytes;
  made.off = offset;
  made.user_data = data;
  return made;
}

// The number of a descriptor that the ring closed is another file's afterwards.
void close_and_reuse(Uring& ring) {
  long fd = CALL(openat, AT_FDCWD, "uring-first", O_RDWR | O_CREAT, 0600);
  trace::on("uring-first"), trace::asks(1);
  CALL(pwrite64, fd, "x", 1, 0);
  ring.run(request(IORING_OP_CLOSE, fd, nullptr, 0, 0, 0x1007));
  long again = CALL(openat, AT_FDCWD, "uring-second", O_RDWR | O_CREAT, 0600);
  trace::on("uring-second"), trace::asks(1);
  CALL(pwrite64, again, "x", 1, 0);
  CALL(close, again);
}

// A socket that the ring connects has a peer afterwards.
void connect_and_write(Uring& ring) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  long listener = CALL(socket, AF_INET, SOCK_STREAM, 0);
  CALL(bind, listener, &address, size);
  CALL(listen, listener, 1);
  CALL(getsockname, listener, &address, &size);
  long client = CALL(socket, AF_INET, SOCK_STREAM, 0);
  ring.run(request(IORING_OP_CONNECT, client, &address, 0, size, 0x100a));
  trace::on_by_ring("->127.0.0.1:"), trace::asks(1);
  CALL(write, client, "x", 1);
  CALL(close, client);
  CALL(close, listener);
}

// One request, a completion for every time that there is something to read: nobody tells whose they are. The pipe stays
// open: its close would be one more.
void poll_again_and_again(Uring& ring) {
  constexpr int kReadable = 1;  // POLLIN
  int ends[2];
  char byte[1];
  CALL(pipe2, ends, 0);
  io_uring_sqe poll = request(IORING_OP_POLL_ADD, ends[0], nullptr, IORING_POLL_ADD_MULTI, 0, 0x1008);
  poll.poll32_events = kReadable;
  ring.submit(poll, 0);
  for (int i = 0; i < 2; ++i) {
    CALL(write, ends[1], "x", 1);
    CALL(read, ends[0], byte, 1);
  }
  if (unsigned seen = ring.drop(); seen > 0) {
    trace::Line line;
    line.add("UNSEEN %u", seen);
    line.end();
  }
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  static char text[4096];
  long fd = CALL(openat, AT_FDCWD, "uring", O_RDWR | O_CREAT | O_TRUNC, 0600);
  Uring ring;
  if (!ring.open()) return trace::finish();
  ring.run(request(IORING_OP_NOP, -1, nullptr, 0, 0, 0x1001));
  ring.run(request(IORING_OP_WRITE, fd, text, 4096, 0, 0x1002));
  ring.run(request(IORING_OP_WRITE, fd, text, 100, 1UL << 32, 0x1003));
  ring.run(request(IORING_OP_READ, fd, text, 4096, (1UL << 32) - 50, 0x1004));  // short: 150
  ring.run(request(IORING_OP_FSYNC, fd, nullptr, 0, 0, 0x1005));
  ring.run(request(IORING_OP_READ, 77, text, 10, 0, 0x1006));  // EBADF
  iovec parts[] = {{text, 100}, {text, 50}};
  ring.run(request(IORING_OP_WRITEV, fd, parts, 2, 0, 0x1009));
  CALL(ftruncate, fd, 0);
  close_and_reuse(ring);
  connect_and_write(ring);
  poll_again_and_again(ring);
  ring.close();
  CALL(close, fd);
  return trace::finish();
}
