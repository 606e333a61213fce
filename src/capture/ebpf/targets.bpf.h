/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * Whose calls are recorded: the processes that are targets, and the state of their threads.
 */
#pragma once

#include "capture/ebpf/maps.bpf.h"

enum {
  kExecve = 59,
  kExecveat = 322,
};

static __always_inline void add_target(__u32 process, __u32 node, __u32 started) {
  struct syscap_target target = {
      .node = node, .started = started, .epoch = __sync_fetch_and_add(&shared.epochs, 1) + 1};
  if (bpf_map_update_elem(&targets, &process, &target, BPF_NOEXIST)) {
    if (!bpf_map_lookup_elem(&targets, &process)) count_overflow();
    return;
  }
  __sync_fetch_and_add(&shared.watched[process & (kSyscapSlots - 1)], 1);
  __sync_fetch_and_add(&shared.alive, 1);
}

/* False when somebody else removed it. */
static __always_inline int remove_target(__u32 process) {
  if (bpf_map_delete_elem(&targets, &process)) return 0;
  __sync_fetch_and_add(&shared.watched[process & (kSyscapSlots - 1)], -1);
  __sync_fetch_and_add(&shared.alive, -1);
  return 1;
}

/* The state of the current thread; made at its first call if its process is a target. */
static __always_inline struct thread* thread_of(struct task_struct* task, __u32 process, __u64 number) {
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  if (thread) return thread;
  struct syscap_target* target = bpf_map_lookup_elem(&targets, &process);
  if (!target || (!target->started && number != kExecve && number != kExecveat)) return 0;
  thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!thread) {
    count_overflow();
    return 0;
  }
  thread->node = target->node;
  thread->epoch = target->epoch;
  return thread;
}
