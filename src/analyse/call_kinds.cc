#include "analyse/call_kinds.h"

#include <sys/socket.h>

#include "base/text.h"

namespace culprit {

namespace {

struct AsyncOp {
  CallKind kind;
  int number;
  std::string_view name;
  Transfer transfer;
};

// The opcodes that move data (linux/aio_abi.h, linux/io_uring.h); others go by their number.
constexpr AsyncOp kAsyncOps[] = {
    {CallKind::aio, 0, "aio_pread", Transfer::read},
    {CallKind::aio, 1, "aio_pwrite", Transfer::write},
    {CallKind::aio, 2, "aio_fsync", Transfer::sync},
    {CallKind::aio, 3, "aio_fdsync", Transfer::sync},
    {CallKind::aio, 7, "aio_preadv", Transfer::read},
    {CallKind::aio, 8, "aio_pwritev", Transfer::write},
    {CallKind::uring, 1, "uring_readv", Transfer::read},
    {CallKind::uring, 2, "uring_writev", Transfer::write},
    {CallKind::uring, 3, "uring_fsync", Transfer::sync},
    {CallKind::uring, 4, "uring_read_fixed", Transfer::read},
    {CallKind::uring, 5, "uring_write_fixed", Transfer::write},
    {CallKind::uring, 22, "uring_read", Transfer::read},
    {CallKind::uring, 23, "uring_write", Transfer::write},
};

const AsyncOp* find_async(const Call& call) {
  for (const AsyncOp& op : kAsyncOps)
    if (op.kind == call.kind && op.number == call.number) return &op;
  return nullptr;
}

}  // namespace

std::string label_of(const Call& call) {
  if (call.kind == CallKind::call) return syscall_name(call.number);
  if (const AsyncOp* op = find_async(call)) return std::string(op->name);
  return cat(call.kind == CallKind::aio ? "aio_" : "uring_", call.number);
}

Transfer transfer_of(const Call& call) {
  if (call.kind == CallKind::call) {
    const Syscall* known = find_syscall(call.number);
    return known ? known->transfer : Transfer::none;
  }
  const AsyncOp* op = find_async(call);
  return op ? op->transfer : Transfer::none;
}

bool is_named(const Call& call, std::string_view name) {
  const Syscall* known = call.kind == CallKind::call ? find_syscall(call.number) : nullptr;
  return known && known->name == name;
}

bool is_exec(const Call& call) {
  return is_named(call, "execve") || is_named(call, "execveat");
}

bool begins_process(const Call& call) {
  return is_exec(call) || is_named(call, "brk") || (is_named(call, "set_robust_list") && call.thread == call.process);
}

bool only_peeks(const Call& call) {
  if (is_named(call, "recvfrom")) return (call.args[3] & MSG_PEEK) != 0;
  return is_named(call, "recvmsg") && (call.args[2] & MSG_PEEK) != 0;
}

bool is_network(const Call& call) {
  const Syscall* known = call.kind == CallKind::call ? find_syscall(call.number) : nullptr;
  return known && known->family == Family::network;
}

}  // namespace culprit
