/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * The maps of syscap.bpf.c, its settings, and the little that all its parts use.
 */
#pragma once

#include <linux/bpf.h>
/* The helpers want the types of the line above. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "capture/ebpf/kernel_types.bpf.h"
#include "capture/ebpf/syscap_abi.h"

/* Where a traced thread is: what it called, and whether it has come back. */
struct thread {
  __u64 start_ns;
  __u64 sequence;
  __u64 epoch;
  __u64 args[8]; /* six; eight, so that a mask bounds the index */
  __u32 number;
  __u32 node;
  __u32 inside;   /* entered and not returned */
  __u32 fd_class; /* of the descriptor that close() is about to end; aggregating mode */
  __u32 midway;   /* known since a signal only: it may be in a call that nobody saw it enter */
  /* A signal without handler that ends the process: the kernel turns it into SIGKILL before it is delivered. */
  __s32 fatal_signal;
  __s32 fatal_code;
  __s32 fatal_sender;
};

struct scratch {
  __u32 busy;
  struct syscap_fd record;
  __u64 vectors[2 * kSyscapMostVectors]; /* struct iovec */
};

const volatile struct syscap_config config SEC(".rodata.config") = {};
struct syscap_shared shared;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20); /* set by the user side */
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} lost SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct syscap_target);
} targets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct syscap_fd_key);
  __type(value, struct syscap_fd_value);
} fds SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct scratch);
} scratches SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, struct syscap_home);
} homes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct syscap_name);
  __type(value, __u32);
} names SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct syscap_aio_key);
  __type(value, struct syscap_request);
} aios SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* one per node: set by the user side */
  __type(key, __u32);
  __type(value, __u64);
} unseen SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, struct syscap_request);
} urings SEC(".maps");

/* Aggregating mode; the user side shrinks them to nothing otherwise. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct syscap_device);
  __type(value, __u32);
} devices SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* one per node */
  __type(key, __u32);
  __type(value, struct syscap_ports);
} ports SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct syscap_sum_key);
  __type(value, struct syscap_sum);
} sums SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, struct syscap_error_key);
  __type(value, __u64);
} errors SEC(".maps");

static __always_inline void count_lost(void) {
  __u32 zero = 0;
  __u64* count = bpf_map_lookup_elem(&lost, &zero);
  if (count) ++*count;
}

static __always_inline void count_overflow(void) {
  __sync_fetch_and_add(&shared.overflows, 1);
}

static __always_inline __u64 next_sequence(void) {
  return __sync_fetch_and_add(&shared.sequence, 1) + 1;
}

static __always_inline int is_watched(__u32 process) {
  return shared.watched[process & (kSyscapSlots - 1)] != 0;
}

/* -512 (ERESTARTSYS) and its kin are no errors: the call is made again. */
static __always_inline int is_error(long result) {
  return result < 0 && result > -512;
}
