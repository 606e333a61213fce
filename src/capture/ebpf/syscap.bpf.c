/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * Which calls do the traced processes make, how long do they take, and on what? Attached to typed raw tracepoints only:
 * kprobes and fentry are locked on many kernels. Every call of every process on the machine comes through here, so the
 * first thing is a test of one word (`watched`); everything else is for traced processes.
 *
 * The state of a call under way is in its task's own storage: it costs less than a hash map, and disappears with the
 * task.
 */
#include "capture/ebpf/async.bpf.h"
#include "capture/ebpf/identity.bpf.h"
#include "capture/ebpf/maps.bpf.h"
#include "capture/ebpf/sums.bpf.h"
#include "capture/ebpf/targets.bpf.h"

char kSyscapLicense[] SEC("license") = "Dual BSD/GPL";

enum {
  kConnect = 42,
  kFcntl = 72,
  kSetFlags = 4,        /* F_SETFL */
  kCopy = 0,            /* F_DUPFD */
  kCopyClosing = 1030,  /* F_DUPFD_CLOEXEC */
  kCompat = 2,          /* TS_COMPAT: a 32-bit call */
  kIoWorker = 0x10,     /* PF_IO_WORKER: a thread of the kernel in a process's name */
  kGroupExit = 4,       /* SIGNAL_GROUP_EXIT */
  kSigkill = 9,         /* its receiver never sees it; the end tells */
  kInterrupted = -4,    /* EINTR */
  kRestartFirst = -512, /* ERESTARTSYS and its kin: never seen by a program */
  kRestartLast = -516,
  kSigchld = 17,
  kFromKernel = 1,      /* SEND_SIG_PRIV, in place of an address */
  kSentByKernel = 0x80, /* SI_KERNEL */
  kUnfinished = -1,
};

/* ---- calls ---- */

static __always_inline __u64 sum_vectors(const struct thread* thread, __u32 kind) {
  __u64 list = thread->args[1];
  __u64 count = thread->args[2];
  if (kind == kSyscapMsghdr) {
    __u64 pair[2]; /* msg_iov, msg_iovlen */
    if (bpf_probe_read_user(pair, sizeof pair, (const void*)(list + 16))) return 0;
    list = pair[0];
    count = pair[1];
  }
  return bytes_of_vectors(list, count);
}

static __always_inline void send_call(const struct thread* thread, __u64 id, long duration, long result) {
  const volatile struct syscap_call_info* info = &config.calls[thread->number & (kSyscapCalls - 1)];
  __u32 vector = info->vector;
  __u64 vector_bytes = 0; /* of an unfinished call the buffers may be out of reach */
  if (vector != kSyscapNoVector && duration != kUnfinished) vector_bytes = sum_vectors(thread, vector);
  struct syscap_call* record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);
  if (!record) {
    count_lost();
    return;
  }
  record->type = kSyscapCall;
  record->node = thread->node;
  record->number = thread->number;
  record->sequence = thread->sequence;
  record->start_ns = thread->start_ns;
  record->duration_ns = duration;
  record->process = id >> 32;
  record->thread = (__u32)id;
  __builtin_memcpy(record->args, thread->args, sizeof record->args);
  if (vector != kSyscapNoVector) {
    if (info->vector_bytes == 4)
      record->args[4] = vector_bytes;
    else
      record->args[5] = vector_bytes;
  }
  record->result = result;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* A signal or an end: something that begins and ends at once. */
static __always_inline void send_moment(__u32 type, __u32 node, __s32 number, __u64 id, __u64 first, __u64 second,
                                        long result) {
  struct syscap_call* record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);
  if (!record) {
    count_lost();
    return;
  }
  __builtin_memset(record, 0, sizeof *record);
  record->type = type;
  record->node = node;
  record->number = number;
  record->sequence = next_sequence();
  record->start_ns = bpf_ktime_get_ns();
  record->process = id >> 32;
  record->thread = (__u32)id;
  record->args[0] = first;
  record->args[1] = second;
  record->result = result;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline struct use use_of(const struct thread* thread, __u64 id, __u64 end_ns) {
  struct use use = {.epoch = thread->epoch,
                    .start_ns = thread->start_ns,
                    .end_ns = end_ns,
                    .process = id >> 32,
                    .node = thread->node};
  return use;
}

static __always_inline void take_registers(struct thread* thread, const struct pt_regs* regs, __u64 number) {
  thread->number = number;
  thread->args[0] = regs->di;
  thread->args[1] = regs->si;
  thread->args[2] = regs->dx;
  thread->args[3] = regs->r10;
  thread->args[4] = regs->r8;
  thread->args[5] = regs->r9;
}

SEC("tp_btf/sys_enter")
int on_sys_enter(unsigned long long* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 process = id >> 32;
  if (!is_watched(process)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (task->thread_info.status & kCompat) { /* first of all: there the numbers mean other calls */
    if (bpf_map_lookup_elem(&targets, &process)) __sync_fetch_and_add(&shared.foreign_calls, 1);
    return 0;
  }
  __u64 number = ctx[1];
  if (number >= kSyscapCalls) return 0;
  __u32 flags = config.calls[number & (kSyscapCalls - 1)].flags;
  if (!(flags & (kSyscapWanted | kSyscapClose | kSyscapChangesFd))) return 0;
  struct thread* thread = thread_of(task, process, number);
  if (!thread) return 0;
  take_registers(thread, (const struct pt_regs*)ctx[0], number);
  if (flags & kSyscapWanted) thread->sequence = next_sequence();
  thread->start_ns = bpf_ktime_get_ns();
  thread->inside = 1;
  thread->midway = 0;
  if (flags & kSyscapClose) { /* afterwards nobody can say what it was */
    struct use use = use_of(thread, id, thread->start_ns);
    if (flags & kSyscapWanted) thread->fd_class = know_fd(task, (int)thread->args[0], &use);
    thread->start_ns = bpf_ktime_get_ns(); /* our own time is not the call's */
  } else if ((flags & kSyscapSubmitsAio) && !config.sums) {
    aio_entered(thread, id);
    thread->start_ns = bpf_ktime_get_ns();
  }
  return 0;
}

static __always_inline __u64 argument(const struct thread* thread, __u32 index) {
  return thread->args[index & 7];
}

/* Describes the descriptors of a call that has returned. Returns the class of the first. */
static __always_inline long know_fds(struct task_struct* task, const struct thread* thread, __u64 id, long result,
                                     __u64 end_ns) {
  const volatile struct syscap_call_info* info = &config.calls[thread->number & (kSyscapCalls - 1)];
  struct use use = use_of(thread, id, end_ns);
  long fd_class = 0;
  __u32 flags = info->flags;
  __u32 first = info->fd;
  __u32 second = info->second_fd;
  use.changed = (flags & kSyscapChangesFd) && (thread->number != kFcntl || thread->args[1] == kSetFlags);
  if (thread->number == kConnect) {
    use.peer = thread->args[1];
    use.peer_bytes = thread->args[2];
  }
  if (first != kSyscapNoArg) fd_class = know_fd(task, (int)argument(thread, first), &use);
  use.changed = 0;
  use.peer = 0;
  if (second != kSyscapNoArg) know_fd(task, (int)argument(thread, second), &use);
  int copies = thread->number == kFcntl && (thread->args[1] == kCopy || thread->args[1] == kCopyClosing);
  if (((flags & kSyscapReturnsFd) || copies) && result >= 0) {
    use.made = 1;
    know_fd(task, (int)result, &use);
  }
  return fd_class;
}

/* After a call that ended its descriptors, or after one that is not recorded and made another thing of its descriptor
 * (connect, F_SETFL): the next use describes them anew. */
static __always_inline void forget_changed(struct task_struct* task, const struct thread* thread, __u32 process,
                                           long result) {
  enum { kCloseRange = 436, kCloseOnExec = 4 };
  __u32 first = (__u32)thread->args[0];
  __u32 last = first;
  if (thread->number == kFcntl && thread->args[1] != kSetFlags) return;
  if (thread->number == kCloseRange) {
    if (result != 0 || (thread->args[2] & kCloseOnExec)) return;
    last = (__u32)thread->args[1];
  }
  forget_fds(task, process, first, last);
}

/* A call that will not return: its thread dies, or the capture ends. */
static __always_inline void give_up_call(struct task_struct* task, struct thread* thread, __u64 id) {
  const volatile struct syscap_call_info* info = &config.calls[thread->number & (kSyscapCalls - 1)];
  if (!thread->inside || !(info->flags & kSyscapWanted)) return;
  thread->inside = 0;
  if (config.sums) return;
  struct use use = use_of(thread, id, thread->start_ns);
  __u32 fd = info->fd;
  if (fd != kSyscapNoArg) know_fd(task, (int)argument(thread, fd), &use);
  send_call(thread, id, kUnfinished, 0);
}

/* The call was broken off because its thread is about to be killed: the program does not get the result. The thread
 * that the fatal signal was sent to is an exception: a tracer sees it come back, get the signal and die. */
static __always_inline int is_broken_off(struct task_struct* task, const struct thread* thread, long result) {
  if (result != kInterrupted && (result > kRestartFirst || result < kRestartLast)) return 0;
  if (thread->fatal_signal) return 0;
  struct signal_struct* signal = BPF_CORE_READ(task, signal);
  if (BPF_CORE_READ(signal, flags) & kGroupExit) return 1;
  if (!bpf_core_field_exists(signal->group_exec_task)) return 0;
  struct task_struct* survivor = BPF_CORE_READ(signal, group_exec_task);
  return survivor && survivor != task;
}

/* What a relative path is relative to is told first. */
static __always_inline void path_failed(struct task_struct* task, const struct thread* thread, __u32 process) {
  const volatile struct syscap_call_info* info = &config.calls[thread->number & (kSyscapCalls - 1)];
  __u32 folder_at = info->folder;
  __u64 path = argument(thread, info->path);
  int folder = folder_at == kSyscapNoArg ? kSyscapCwd : (int)argument(thread, folder_at);
  char first = 0;
  bpf_probe_read_user(&first, 1, (const void*)path);
  if (folder == kSyscapCwd && first && first != '/') send_cwd(task, thread, process);
  if (folder >= 0 && !file_at(task, folder)) folder = -1; /* EBADF: the path is in no folder */
  send_user_path(thread, process, path, folder);
}

/* Its thread has not entered a call, and one returns: a seccomp filter answered it before it could be entered. */
static __always_inline int was_answered(struct task_struct* task, struct thread* thread, const struct pt_regs* regs,
                                        long result) {
  if (thread->midway || (task->thread_info.status & kCompat)) {
    thread->midway = 0;
    return 0;
  }
  __u64 number = regs->orig_ax;
  if (number == kExecve && !result) return 0; /* of a 32-bit program: it began as a call of another kind */
  if (result == (long)number) return 0;       /* undone: the filter traps or kills */
  if (number >= kSyscapCalls || !(config.calls[number & (kSyscapCalls - 1)].flags & kSyscapWanted)) return 0;
  take_registers(thread, regs, number);
  thread->sequence = next_sequence();
  thread->start_ns = bpf_ktime_get_ns();
  thread->fd_class = kSyscapOther;
  return 1;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(unsigned long long* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  if (!is_watched(id >> 32)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  if (!thread) return 0;
  long result = (long)ctx[1];
  if (!thread->inside && !was_answered(task, thread, (const struct pt_regs*)ctx[0], result)) return 0;
  __u64 end_ns = bpf_ktime_get_ns();
  if (is_broken_off(task, thread, result)) {
    give_up_call(task, thread, id);
    return 0;
  }
  thread->inside = 0;
  const volatile struct syscap_call_info* info = &config.calls[thread->number & (kSyscapCalls - 1)];
  __u32 flags = info->flags;
  if ((flags & kSyscapClose) || !(flags & kSyscapWanted)) forget_changed(task, thread, id >> 32, result);
  if (!(flags & kSyscapWanted)) return 0;
  long fd_class = thread->fd_class;
  if (!(flags & kSyscapClose)) fd_class = know_fds(task, thread, id, result, end_ns);
  long duration = end_ns - thread->start_ns;
  if (config.sums) {
    add_sum(thread->node, fd_class, thread->number, duration, result);
    if ((flags & kSyscapSubmitsAio) && result > 0) count_unseen(thread->node, result);
    return 0;
  }
  if (info->path != kSyscapNoArg && is_error(result)) path_failed(task, thread, id >> 32);
  if (flags & kSyscapSubmitsAio) aio_submitted(thread, id, result);
  send_call(thread, id, duration, result);
  if (flags & kSyscapReapsAio) aio_reaped(thread, id, result, end_ns);
  return 0;
}

/* Read once after the probes are gone: the calls that are still under way. */
SEC("iter/task")
int on_rest(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  if (!thread) return 0;
  __u64 id = (__u64)(__u32)task->tgid << 32 | (__u32)task->pid;
  give_up_call(task, thread, id);
  return 0;
}

/* ---- processes ---- */

SEC("tp_btf/sched_process_fork")
int on_fork(unsigned long long* ctx) {
  struct task_struct* parent = (struct task_struct*)ctx[0];
  struct task_struct* child = (struct task_struct*)ctx[1];
  __u32 process = parent->tgid;
  __u32 made = child->tgid;
  if (!is_watched(process) || made == process) return 0;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (target) add_target(made, target->node, target->started);
  return 0;
}

static __always_inline void maybe_newcomer(struct task_struct* task, __u32 process) {
  __u32 space = BPF_CORE_READ(task, nsproxy, net_ns, ns.inum);
  struct syscap_home* home = bpf_map_lookup_elem(&homes, &space);
  if (!home) return;
  struct syscap_name name = {.node = home->node};
  bpf_get_current_comm(name.comm, sizeof name.comm);
  if (home->all || bpf_map_lookup_elem(&names, &name)) add_target(process, home->node, 1);
}

SEC("tp_btf/sched_process_exec")
int on_exec(unsigned long long* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  __u32 process = task->tgid;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (!target) {
    if (config.has_homes) maybe_newcomer(task, process);
    return 0;
  }
  target->epoch = __sync_fetch_and_add(&shared.epochs, 1) + 1;
  target->started = 1;
  struct thread* thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
  if (thread) thread->epoch = target->epoch;
  return 0;
}

/* Which node this thread is traced for; -1: for none. */
static __always_inline int node_of(const struct thread* thread, __u32 process) {
  if (thread) return thread->node;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  return target && target->started ? (int)target->node : -1;
}

static __always_inline int wait_status(struct task_struct* task) {
  if (BPF_CORE_READ(task, signal, flags) & kGroupExit) return BPF_CORE_READ(task, signal, group_exit_code);
  return BPF_CORE_READ(task, group_leader, exit_code);
}

SEC("tp_btf/sched_process_exit")
int on_exit(unsigned long long* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 process = id >> 32;
  if (!is_watched(process)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  int last = config.exit_tells_last ? (ctx[1] & 1) : BPF_CORE_READ(task, signal, live.counter) == 0;
  if ((task->flags & kIoWorker) && !last) return 0;
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  int node = node_of(thread, process);
  if (thread) give_up_call(task, thread, id);
  if (node >= 0) {
    /* Two threads may both see that nobody is left: the target can be looked up by the first only. */
    last = last && bpf_map_lookup_elem(&targets, &process);
    send_moment(kSyscapExit, node, last, id, 0, 0, last ? wait_status(task) : task->exit_code);
  }
  if (last) remove_target(process); /* after its last record, so that `alive` tells when the ring has everything */
  return 0;
}

/* Who sent it; 0: the kernel. */
static __always_inline __s32 sender_of(int number, struct kernel_siginfo* info, int code) {
  int by_process = code == 0 || code == -1 || code == -6 || number == kSigchld; /* SI_USER, SI_QUEUE, SI_TKILL */
  return by_process ? BPF_CORE_READ(info, _sifields._kill._pid) : 0;
}

/* The state of a thread that has not called anything since the capture began: it waits in a call, or computes. */
static __always_inline struct thread* quiet_thread(struct task_struct* task) {
  __u32 process = task->tgid;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (!target || !target->started) return 0;
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!thread) return 0;
  thread->node = target->node;
  thread->epoch = target->epoch;
  thread->midway = 1;
  return thread;
}

/* A signal that ends the process at once is not delivered as itself: it is kept for the SIGKILL that comes instead. */
SEC("tp_btf/signal_generate")
int on_signal_sent(unsigned long long* ctx) {
  int number = (int)ctx[0];
  struct kernel_siginfo* info = 0;
  struct task_struct* task = (struct task_struct*)ctx[2];
  int outcome = (int)ctx[4];
  if (!is_watched(task->tgid) || number == kSigkill || outcome != 0) return 0;
  struct signal_struct* signal = BPF_CORE_READ(task, signal);
  if (!(BPF_CORE_READ(signal, flags) & kGroupExit) || BPF_CORE_READ(signal, group_exit_code) != number) return 0;
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  if (!thread) thread = quiet_thread(task);
  if (!thread) return 0;
  bpf_probe_read_kernel(&info, sizeof info, &ctx[1]); /* as a number: the verifier takes ctx[1] for an address */
  if ((__u64)info <= kFromKernel) {                   /* no address: 0 stands for "by the current process" */
    thread->fatal_code = info ? kSentByKernel : 0;
    thread->fatal_sender = info ? 0 : (__s32)(bpf_get_current_pid_tgid() >> 32);
  } else {
    int code = BPF_CORE_READ(info, si_code);
    thread->fatal_code = code;
    thread->fatal_sender = sender_of(number, info, code);
  }
  thread->fatal_signal = number;
  return 0;
}

SEC("tp_btf/signal_deliver")
int on_signal(unsigned long long* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 process = id >> 32;
  int number = (int)ctx[0];
  if (!is_watched(process)) return 0;
  struct thread* thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
  int node = node_of(thread, process);
  if (node < 0) return 0;
  if (number == kSigkill) {
    if (!thread || !thread->fatal_signal) return 0;
    send_moment(kSyscapSignal, node, thread->fatal_signal, id, (__s64)thread->fatal_code, (__u32)thread->fatal_sender,
                0);
    thread->fatal_signal = 0;
    return 0;
  }
  struct kernel_siginfo* info = (struct kernel_siginfo*)ctx[1];
  int code = BPF_CORE_READ(info, si_code);
  send_moment(kSyscapSignal, node, number, id, (__s64)code, (__u32)sender_of(number, info, code), 0);
  return 0;
}

/* ---- io_uring: loaded as far as the kernel has these tracepoints; their arguments changed over time ---- */

SEC("?tp_btf/io_uring_submit_req")
int on_uring_req(unsigned long long* ctx) {
  uring_submitted((struct io_kiocb*)ctx[0]);
  return 0;
}

SEC("?tp_btf/io_uring_submit_sqe") /* before 6.4 */
int on_uring_sqe(unsigned long long* ctx) {
  if (config.sqe_has_context)
    uring_submitted((struct io_kiocb*)ctx[1]);
  else
    uring_submitted((struct io_kiocb*)ctx[0]);
  return 0;
}

SEC("?tp_btf/io_uring_complete")
int on_uring_complete(unsigned long long* ctx) {
  struct io_uring_cqe* cqe = (struct io_uring_cqe*)ctx[2];
  uring_completed(ctx[0], ctx[1], BPF_CORE_READ(cqe, user_data), BPF_CORE_READ(cqe, res), BPF_CORE_READ(cqe, flags));
  return 0;
}

SEC("?tp_btf/io_uring_complete") /* without a cqe: user_data, res and flags one by one */
int on_uring_complete_old(unsigned long long* ctx) {
  uring_completed(ctx[0], ctx[1], ctx[2], (int)ctx[3], (__u32)ctx[4]);
  return 0;
}
