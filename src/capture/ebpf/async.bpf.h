/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * Requests that end after the call that made them. AIO: io_submit hands in control blocks, io_getevents gets them back;
 * what a program takes out of the shared ring itself never shows (it stays in `aios`, which the user side counts).
 * io_uring: the kernel tells when a request comes in and when it is complete.
 */
#pragma once

#include "capture/ebpf/identity.bpf.h"

struct user_iocb { /* struct iocb of linux/aio_abi.h */
  __u64 data;
  __u32 key;
  __u32 rw_flags;
  __u16 opcode;
  __s16 priority;
  __s32 fd;
  __u64 buffer;
  __u64 bytes;
  __u64 offset;
  __u64 reserved;
  __u32 flags;
  __u32 event_fd;
};

struct user_event { /* struct io_event */
  __u64 data;
  __u64 iocb;
  __s64 result;
  __s64 result2;
};

enum {
  kAioReadVectors = 7, /* IOCB_CMD_PREADV */
  kAioWriteVectors = 8,
};

struct batch { /* a call that submits or reaps several */
  __u64 list;
  __u64 time_ns;
  __u64 epoch;
  __s32 process;
  __s32 thread;
  __u32 node;
  __u32 first;
};

static __always_inline void count_unseen(__u32 node, __u64 requests) {
  __u64* count = bpf_map_lookup_elem(&unseen, &node);
  if (count) __sync_fetch_and_add(count, requests);
}

static __noinline long send_request(const struct syscap_request* request, __u32 type, __u64 end_ns, long result,
                                    __u64 data) {
  struct syscap_call* record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);
  if (!record) {
    count_lost();
    return 0;
  }
  record->type = type;
  record->node = request->node;
  record->number = request->opcode;
  record->sequence = request->sequence;
  record->start_ns = request->start_ns;
  record->duration_ns = end_ns - request->start_ns;
  record->process = request->process;
  record->thread = request->thread;
  record->args[0] = (__s64)request->fd;
  record->args[1] = request->bytes;
  record->args[2] = request->offset;
  record->args[3] = data;
  record->args[4] = 0;
  record->args[5] = 0;
  record->result = result;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 1;
}

static __always_inline int read_iocb_pointer(const struct batch* batch, __u32 index, __u64* pointer) {
  return bpf_probe_read_user(pointer, sizeof *pointer, (const void*)(batch->list + 8 * (__u64)index));
}

/* At the entry of io_submit: at its exit another thread may already have the result. */
static long note_iocb(__u32 index, void* context) {
  struct batch* batch = context;
  struct user_iocb iocb;
  struct syscap_aio_key key = {.process = batch->process};
  if (read_iocb_pointer(batch, index, &key.iocb)) return 1;
  if (bpf_probe_read_user(&iocb, sizeof iocb, (const void*)key.iocb)) return 1;
  struct syscap_request request = {.start_ns = batch->time_ns,
                                   .sequence = next_sequence(),
                                   .bytes = iocb.bytes,
                                   .offset = iocb.offset,
                                   .data = iocb.data,
                                   .process = batch->process,
                                   .thread = batch->thread,
                                   .fd = iocb.fd,
                                   .opcode = iocb.opcode,
                                   .node = batch->node};
  if (iocb.opcode == kAioReadVectors || iocb.opcode == kAioWriteVectors)
    request.bytes = bytes_of_vectors(iocb.buffer, iocb.bytes);
  if (bpf_map_lookup_elem(&aios, &key))
    count_unseen(batch->node, 1); /* the block is used again: its end was not seen */
  if (bpf_map_update_elem(&aios, &key, &request, BPF_ANY)) count_unseen(batch->node, 1);
  return 0;
}

/* What each block works on; apart from the above, because the stack of a program is small. */
static long know_iocb(__u32 index, void* context) {
  struct batch* batch = context;
  struct use use = {.epoch = batch->epoch, .start_ns = batch->time_ns, .process = batch->process, .node = batch->node};
  __u64 iocb = 0;
  int fd = -1;
  if (read_iocb_pointer(batch, index, &iocb)) return 1;
  bpf_probe_read_user(&fd, sizeof fd, (const void*)(iocb + __builtin_offsetof(struct user_iocb, fd)));
  know_fd(bpf_get_current_task_btf(), fd, &use);
  return 0;
}

static long drop_iocb(__u32 index, void* context) {
  struct batch* batch = context;
  struct syscap_aio_key key = {.process = batch->process};
  if (read_iocb_pointer(batch, batch->first + index, &key.iocb)) return 1;
  bpf_map_delete_elem(&aios, &key);
  return 0;
}

static long reap_event(__u32 index, void* context) {
  struct batch* batch = context;
  struct user_event event;
  if (bpf_probe_read_user(&event, sizeof event, (const void*)(batch->list + sizeof event * (__u64)index))) return 1;
  struct syscap_aio_key key = {.iocb = event.iocb, .process = batch->process};
  struct syscap_request* request = bpf_map_lookup_elem(&aios, &key);
  if (!request) return 0;
  send_request(request, kSyscapAio, batch->time_ns, event.result, request->data);
  bpf_map_delete_elem(&aios, &key);
  return 0;
}

static __always_inline __u32 at_most(__u64 count, __u32 limit) {
  return count < limit ? (__u32)count : limit;
}

static __always_inline void aio_entered(const struct thread* thread, __u64 id) {
  struct batch batch = {.list = thread->args[2],
                        .time_ns = thread->start_ns,
                        .epoch = thread->epoch,
                        .process = id >> 32,
                        .thread = (__u32)id,
                        .node = thread->node};
  long count = (long)thread->args[1];
  if (count <= 0) return;
  if (count > kSyscapMostAio) count_unseen(batch.node, count - kSyscapMostAio);
  __u32 some = at_most(count, kSyscapMostAio);
  bpf_loop(some, know_iocb, &batch, 0);
  bpf_loop(some, note_iocb, &batch, 0);
}

/* The kernel took only the first `result` blocks. */
static __always_inline void aio_submitted(const struct thread* thread, __u64 id, long result) {
  __u32 asked = at_most(thread->args[1], kSyscapMostAio);
  __u32 taken = result > 0 ? at_most(result, kSyscapMostAio) : 0;
  if (taken >= asked) return;
  struct batch batch = {.list = thread->args[2], .process = id >> 32, .first = taken};
  bpf_loop(asked - taken, drop_iocb, &batch, 0);
}

static __always_inline void aio_reaped(const struct thread* thread, __u64 id, long result, __u64 end_ns) {
  if (result <= 0) return;
  struct batch batch = {.list = thread->args[3], .time_ns = end_ns, .process = id >> 32, .node = thread->node};
  bpf_loop(at_most(result, kSyscapMostAio), reap_event, &batch, 0);
}

/* ---- io_uring ---- */

enum {
  kFixedFile = 1,       /* REQ_F_FIXED_FILE: a registered file, which has no number */
  kMoreToCome = 1 << 1, /* IORING_CQE_F_MORE: the request goes on after this completion */
  kIsNotice = 1 << 3,   /* IORING_CQE_F_NOTIF: the buffer of a request that has been told of is free again */
  kUringClose = 19,     /* IORING_OP_CLOSE */
};

/* Operations that work on a descriptor, and those whose length and offset are where those of read and write are. */
#define OP(number) (1ULL << (number))
static const __u64 kOnDescriptor = OP(1) | OP(2) | OP(3) | OP(4) | OP(5) | OP(6) | OP(8) | OP(9) | OP(10) | OP(13) |
                                   OP(16) | OP(17) | OP(22) | OP(23) | OP(24) | OP(26) | OP(27) | OP(30) | OP(33) |
                                   OP(34) | OP(40) | OP(41) | OP(43) | OP(46) | OP(47) | OP(48) | OP(49) | OP(55) |
                                   OP(56) | OP(57) | OP(58) | OP(59) | OP(60) | OP(61);
static const __u64 kReadsOrWrites = OP(1) | OP(2) | OP(4) | OP(5) | OP(22) | OP(23) | OP(49) | OP(60) | OP(61);
static const __u64 kWithVectors = OP(1) | OP(2) | OP(60) | OP(61);
static const __u64 kChangesSocket = OP(16) | OP(56) | OP(57); /* connect, bind, listen */
static const __u64 kSendsOrReceives = OP(26) | OP(27) | OP(47);

static __always_inline int among(__u64 set, __u32 opcode) {
  return opcode < 64 && (set >> (opcode & 63) & 1);
}

static __always_inline void describe_request(struct io_kiocb* req, struct syscap_request* request) {
  __u32 opcode = BPF_CORE_READ(req, opcode);
  request->opcode = opcode;
  request->fd = -1;
  if (among(kOnDescriptor, opcode) && bpf_core_field_exists(req->cqe.fd) && !(BPF_CORE_READ(req, flags) & kFixedFile))
    request->fd = BPF_CORE_READ(req, cqe.fd);
  if (among(kReadsOrWrites, opcode) && bpf_core_type_exists(struct io_rw)) {
    request->bytes = BPF_CORE_READ((struct io_rw*)req, len);
    if (among(kWithVectors, opcode))
      request->bytes = bytes_of_vectors(BPF_CORE_READ((struct io_rw*)req, addr), request->bytes);
    request->offset = BPF_CORE_READ((struct io_rw*)req, kiocb.ki_pos);
  } else if (among(kSendsOrReceives, opcode) && bpf_core_type_exists(struct io_sr_msg)) {
    request->bytes = (__u32)BPF_CORE_READ((struct io_sr_msg*)req, len);
  } else if (opcode == kUringClose && bpf_core_type_exists(struct io_close)) {
    if (!BPF_CORE_READ((struct io_close*)req, file_slot)) request->fd = BPF_CORE_READ((struct io_close*)req, fd);
  }
}

static __noinline long uring_submitted(struct io_kiocb* req) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 process = id >> 32;
  if (!is_watched(process)) return 0;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (!target || !target->started) return 0;
  if (config.sums) { /* sums are of calls */
    count_unseen(target->node, 1);
    return 0;
  }
  struct syscap_request request = {.start_ns = bpf_ktime_get_ns(),
                                   .sequence = next_sequence(),
                                   .data = (__u64)BPF_CORE_READ(req, ctx),
                                   .process = process,
                                   .thread = (__u32)id,
                                   .node = target->node};
  struct use use = {.epoch = target->epoch, .start_ns = request.start_ns, .process = process, .node = target->node};
  describe_request(req, &request);
  know_fd(bpf_get_current_task_btf(), request.fd, &use);
  __u64 key = (__u64)req;
  if (bpf_map_update_elem(&urings, &key, &request, BPF_ANY)) count_overflow();
  return 0;
}

/* A completion of a request that has several comes without the request: nobody can say of which one. It comes in the
 * name of the process that made it. */
static __always_inline void count_nameless(void) {
  __u32 process = bpf_get_current_pid_tgid() >> 32;
  if (config.sums || !is_watched(process)) return;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (target && target->started) count_unseen(target->node, 1);
}

/* A request that ended without a completion leaves its entry behind, and the kernel gives its memory to the next, which
 * may be a stranger's: then the ring is another. */
static __always_inline void uring_completed(__u64 ring, __u64 req, __u64 user_data, long result, __u32 flags) {
  if (flags & kIsNotice) return;
  if (!req) {
    count_nameless();
    return;
  }
  struct syscap_request* request = bpf_map_lookup_elem(&urings, &req);
  if (!request) { /* it came before the capture, or was no request at all */
    count_nameless();
    return;
  }
  if (request->data != ring) {
    count_unseen(request->node, 1);
    bpf_map_delete_elem(&urings, &req);
    return;
  }
  send_request(request, kSyscapUring, bpf_ktime_get_ns(), result, user_data);
  if (request->opcode == kUringClose || among(kChangesSocket, request->opcode))
    forget_fd(request->process, request->fd);
  if (flags & kMoreToCome)
    request->sequence = next_sequence(); /* the next completion is a record of its own */
  else
    bpf_map_delete_elem(&urings, &req);
}
