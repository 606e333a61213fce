/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * Aggregating mode: no record per call, but counts per node, class and call, which the user side reads once a second.
 */
#pragma once

#include "capture/ebpf/maps.bpf.h"

/* The power of two below: [0] for 0 and 1 ns, [31] for everything from 2^31 on. */
static __always_inline __u32 bucket_of(__u64 duration) {
  __u32 rest = duration > 0xffffffff ? 0xffffffff : (__u32)duration;
  __u32 bucket = 0;
  for (__u32 shift = 16; shift; shift >>= 1) {
    if (rest >> shift) {
      bucket += shift;
      rest >>= shift;
    }
  }
  return bucket & 31;
}

static __noinline long add_error(const struct syscap_sum_key* sum, __u32 error) {
  struct syscap_error_key key = {.node = sum->node, .fd_class = sum->fd_class, .number = sum->number, .error = error};
  __u64* count = bpf_map_lookup_elem(&errors, &key);
  if (!count) {
    __u64 none = 0;
    bpf_map_update_elem(&errors, &key, &none, BPF_NOEXIST);
    count = bpf_map_lookup_elem(&errors, &key);
  }
  if (count)
    __sync_fetch_and_add(count, 1);
  else
    count_overflow();
  return 0;
}

static __always_inline void add_sum(__u32 node, __u32 fd_class, __u32 number, __u64 duration, long result) {
  struct syscap_sum_key key = {.node = node, .fd_class = fd_class, .number = number};
  struct syscap_sum* sum = bpf_map_lookup_elem(&sums, &key);
  if (!sum) {
    struct syscap_sum none = {};
    bpf_map_update_elem(&sums, &key, &none, BPF_NOEXIST);
    sum = bpf_map_lookup_elem(&sums, &key);
  }
  if (!sum) {
    count_overflow();
    return;
  }
  sum->count += 1;
  sum->sum_ns += duration;
  sum->histogram[bucket_of(duration)] += 1;
  if (is_error(result)) add_error(&key, -result);
}
