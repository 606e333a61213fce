/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * What a descriptor is. A descriptor that was met before costs one look-up; a new one is described in a record of its
 * own: a path by walking up dentries and mounts, a socket by its addresses. Everything is read without locks, as a
 * tracer must: a name that changes meanwhile may come out as neither the old nor the new one.
 */
#pragma once

#include "capture/ebpf/maps.bpf.h"

enum {
  kTypeMask = 0170000, /* of i_mode, as in stat(2) */
  kFolder = 0040000,
  kDevice = 0020000, /* character device */
  kRegular = 0100000,
  kSocket = 0140000,
  kSockfs = 0x534f434b,
  kFuseDevice = 10 << 20 | 229,
  kUnix = 1,
  kIpv4 = 2,
  kIpv6 = 10,
  kMostSteps = 192, /* up a path: components and mounts */
};

/* Who uses it, when, and why we ask. */
struct use {
  __u64 epoch;
  __u64 start_ns;
  __u64 end_ns;
  __u32 process;
  __u32 node;
  __u32 changed; /* the call may have made another thing of it */
  __u32 made;    /* the call returned it */
  __u64 peer;    /* connect: where the address is that it was given */
  __u64 peer_bytes;
};

struct walk {
  struct dentry* dentry;
  struct dentry* root; /* of the mount */
  struct mount* mount;
  __u32 used;
  __u32 ended;
};

/* The record buffer of this CPU; none when somebody interrupted us uses it. */
static __always_inline struct scratch* take_scratch(void) {
  __u32 zero = 0;
  struct scratch* scratch = bpf_map_lookup_elem(&scratches, &zero);
  if (!scratch || scratch->busy) {
    count_lost();
    return 0;
  }
  scratch->busy = 1;
  __builtin_memset(&scratch->record, 0, __builtin_offsetof(struct syscap_fd, text));
  return scratch;
}

static __always_inline long send_scratch(struct scratch* scratch, __u32 text_bytes) {
  text_bytes &= kSyscapText - 1;
  barrier_var(text_bytes);
  scratch->record.text_bytes = text_bytes;
  __u64 bytes = __builtin_offsetof(struct syscap_fd, text) + (text_bytes & (kSyscapText - 1));
  long failed = bpf_ringbuf_output(&ring, &scratch->record, bytes, BPF_RB_NO_WAKEUP);
  scratch->busy = 0;
  if (failed) count_lost();
  return !failed;
}

struct vectors {
  __u64 list; /* of struct iovec */
  __u64 count;
  __u64 sum;
};

static long add_vectors(__u32 index, void* context) {
  struct vectors* vectors = context;
  __u64 done = (__u64)index * kSyscapMostVectors;
  __u64 count = vectors->count - done;
  __u32 zero = 0;
  struct scratch* scratch = bpf_map_lookup_elem(&scratches, &zero);
  if (!scratch || done >= vectors->count) return 1;
  if (count > kSyscapMostVectors) count = kSyscapMostVectors;
  barrier_var(count);
  if (count > kSyscapMostVectors) return 1; /* for the verifier */
  if (bpf_probe_read_user(scratch->vectors, count * 16, (const void*)(vectors->list + done * 16))) return 1;
  for (__u32 i = 0; i < kSyscapMostVectors; ++i)
    if (i < count) vectors->sum += scratch->vectors[2 * i + 1];
  return 0;
}

/* The bytes that a vector of buffers asks for. Not inlined: its callers need their stack for other calls. */
static __noinline __u64 bytes_of_vectors(__u64 list, __u64 count) {
  struct vectors vectors = {.list = list, .count = count};
  if (count <= kSyscapMostVectors)
    add_vectors(0, &vectors);
  else
    bpf_loop(kSyscapMostVectorBlocks, add_vectors, &vectors, 0);
  return vectors.sum;
}

static long climb(__u32 index, void* context) {
  struct walk* walk = context;
  struct dentry* dentry = walk->dentry;
  if (dentry == walk->root) {
    struct mount* mount = walk->mount;
    struct mount* parent = BPF_CORE_READ(mount, mnt_parent);
    walk->ended = parent == mount || !parent;
    if (walk->ended) return 1;
    walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
    walk->root = BPF_CORE_READ(parent, mnt.mnt_root);
    walk->mount = parent;
    return 0;
  }
  struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  walk->ended = parent == dentry || !parent; /* it was unmounted under its user */
  if (walk->ended || walk->used >= kSyscapMostPath) return 1;
  __u32 zero = 0;
  struct scratch* scratch = bpf_map_lookup_elem(&scratches, &zero);
  if (!scratch) return 1;
  __u32 offset = walk->used & (kSyscapMostPath - 1);
  barrier_var(offset);
  const unsigned char* name = BPF_CORE_READ(dentry, d_name.name);
  long bytes = bpf_probe_read_kernel_str(scratch->record.text + (offset & (kSyscapMostPath - 1)), kSyscapName, name);
  if (bytes <= 0) return 1;
  walk->used = offset + bytes;
  walk->dentry = parent;
  return 0;
}

/* Returns the bytes of text. */
static __always_inline __u32 describe_path(struct vfsmount* vfsmount, struct dentry* dentry, struct scratch* scratch) {
  struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  struct walk walk = {.dentry = dentry, .root = BPF_CORE_READ(vfsmount, mnt_root)};
  if (dentry == parent && dentry != walk.root) {
    scratch->record.marks = kSyscapPseudo;
    long bytes = bpf_probe_read_kernel_str(scratch->record.text, kSyscapName, BPF_CORE_READ(dentry, d_name.name));
    return bytes > 0 ? bytes : 0;
  }
  walk.mount = (void*)vfsmount - bpf_core_field_offset(struct mount, mnt);
  bpf_loop(kMostSteps, climb, &walk, 0);
  __u16 marks = 0;
  if (dentry != parent && !BPF_CORE_READ(dentry, d_hash.pprev)) marks |= kSyscapDeleted;
  if (!walk.ended) marks |= kSyscapCut;
  scratch->record.marks = marks;
  return walk.used;
}

/* An address that is bound: family, then a path with its NUL or an abstract name that begins with one. */
static __always_inline __u32 unix_name(struct sock* sk, struct scratch* scratch) {
  if (!sk || !bpf_core_type_exists(struct unix_sock)) return 0;
  struct unix_address* address = BPF_CORE_READ((struct unix_sock*)sk, addr);
  if (!address) return 0;
  int length = BPF_CORE_READ(address, len);
  if (length <= 2 || length > 110) return 0;
  __u32 bytes = (__u32)(length - 2) & 127;
  barrier_var(bytes);
  const char* name = (const char*)address + bpf_core_field_offset(struct unix_address, name) + 2;
  if (bpf_probe_read_kernel(scratch->record.text, bytes & 127, name)) return 0;
  return bytes & 127;
}

static __always_inline struct sock* sock_of(struct file* file) {
  struct socket* socket = BPF_CORE_READ(file, private_data);
  return socket ? BPF_CORE_READ(socket, sk) : 0;
}

static __always_inline __u32 describe_socket(struct file* file, struct scratch* scratch) {
  struct syscap_fd* record = &scratch->record;
  struct sock* sk = sock_of(file);
  if (!sk) return 0;
  __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
  record->family = family;
  record->socket_type = BPF_CORE_READ(sk, sk_type);
  record->protocol = BPF_CORE_READ(sk, sk_protocol);
  if (family == kUnix) {
    __u32 bytes = unix_name(sk, scratch);
    if (bytes || !bpf_core_type_exists(struct unix_sock)) return bytes;
    return unix_name(BPF_CORE_READ((struct unix_sock*)sk, peer), scratch);
  }
  if (family == kIpv4) {
    bpf_core_read(record->local, 4, &sk->__sk_common.skc_rcv_saddr);
    bpf_core_read(record->peer, 4, &sk->__sk_common.skc_daddr);
  } else if (family == kIpv6) {
    bpf_core_read(record->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
    bpf_core_read(record->peer, 16, &sk->__sk_common.skc_v6_daddr);
  } else {
    return 0;
  }
  record->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
  record->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
  return 0;
}

/* Whom connect was to reach, from its argument: the kernel forgets it when the connection is refused, and just then it
 * matters. */
static __always_inline void describe_wanted(struct syscap_fd* record, __u64 address) {
  __u16 family = 0;
  __u16 port = 0;
  if (record->peer_port || bpf_probe_read_user(&family, sizeof family, (const void*)address)) return;
  if (family != record->family || (family != kIpv4 && family != kIpv6)) return;
  if (bpf_probe_read_user(&port, sizeof port, (const void*)(address + 2))) return;
  record->peer_port = __builtin_bswap16(port);
  if (family == kIpv4)
    bpf_probe_read_user(record->peer, 4, (const void*)(address + 4));
  else
    bpf_probe_read_user(record->peer, 16, (const void*)(address + 8));
}

/* The same of a Unix socket: the bytes of its name. */
static __always_inline __u32 wanted_name(struct scratch* scratch, __u64 address, __u64 length) {
  if (length <= 2 || length > 110) return 0;
  __u32 bytes = (__u32)(length - 2) & 127;
  barrier_var(bytes);
  if (bpf_probe_read_user(scratch->record.text, bytes & 127, (const void*)(address + 2))) return 0;
  return bytes & 127;
}

static __noinline long send_fd(struct file* file, struct inode* inode, const struct use* use, int fd, __u64 time_ns) {
  struct scratch* scratch = take_scratch();
  if (!scratch) return 0;
  struct super_block* sb = BPF_CORE_READ(inode, i_sb);
  struct syscap_fd* record = &scratch->record;
  record->type = kSyscapFd;
  record->node = use->node;
  record->fd = fd;
  record->time_ns = time_ns;
  record->process = use->process;
  record->inode = BPF_CORE_READ(inode, i_ino);
  record->mode = BPF_CORE_READ(inode, i_mode);
  record->special = BPF_CORE_READ(inode, i_rdev);
  record->device = BPF_CORE_READ(sb, s_dev);
  record->magic = BPF_CORE_READ(sb, s_magic);
  record->open_flags = BPF_CORE_READ(file, f_flags);
  __u32 bytes = record->magic == kSockfs
                    ? describe_socket(file, scratch)
                    : describe_path(BPF_CORE_READ(file, f_path.mnt), BPF_CORE_READ(file, f_path.dentry), scratch);
  if (use->peer && record->family == kUnix) {
    __u32 wanted = wanted_name(scratch, use->peer, use->peer_bytes);
    if (wanted) bytes = wanted;
  } else if (use->peer) {
    describe_wanted(record, use->peer);
  }
  return send_scratch(scratch, bytes);
}

/* The working folder, for a path that is relative to it. */
static __noinline long send_cwd(struct task_struct* task, const struct thread* thread, __u32 process) {
  struct scratch* scratch = take_scratch();
  if (!scratch) return 0;
  struct syscap_fd* record = &scratch->record;
  record->type = kSyscapFd;
  record->node = thread->node;
  record->fd = kSyscapCwd;
  record->time_ns = thread->start_ns;
  record->process = process;
  record->mode = kFolder;
  struct fs_struct* fs = task->fs;
  return send_scratch(scratch, describe_path(BPF_CORE_READ(fs, pwd.mnt), BPF_CORE_READ(fs, pwd.dentry), scratch));
}

/* A call that failed on a path: the path as the program gave it. */
static __noinline long send_user_path(const struct thread* thread, __u32 process, __u64 pointer, int folder) {
  struct scratch* scratch = take_scratch();
  if (!scratch) return 0;
  struct syscap_fd* record = &scratch->record;
  record->type = kSyscapFd;
  record->node = thread->node;
  record->fd = folder;
  record->time_ns = thread->start_ns;
  record->sequence = thread->sequence;
  record->process = process;
  record->marks = kSyscapUserPath;
  long bytes = bpf_probe_read_user_str(record->text, kSyscapMostUserPath, (const void*)pointer);
  if (bytes > 0) return send_scratch(scratch, bytes);
  scratch->busy = 0;
  return 0;
}

static __always_inline int is_data_port(const struct syscap_ports* data, __u16 port) {
  return data->bits[port >> 6] >> (port & 63) & 1;
}

/* The simple rules of FdClass, for sums. */
static __noinline long class_of(struct file* file, struct inode* inode, __u32 node) {
  __u32 type = BPF_CORE_READ(inode, i_mode) & kTypeMask;
  if (type == kRegular || type == kFolder) {
    struct syscap_device key = {.node = node, .device = BPF_CORE_READ(inode, i_sb, s_dev)};
    return bpf_map_lookup_elem(&devices, &key) ? kSyscapStorage : kSyscapOther;
  }
  if (type == kDevice) return BPF_CORE_READ(inode, i_rdev) == kFuseDevice ? kSyscapFuse : kSyscapOther;
  if (type != kSocket || BPF_CORE_READ(inode, i_sb, s_magic) != kSockfs) return kSyscapOther;
  struct sock* sk = sock_of(file);
  struct syscap_ports* data = bpf_map_lookup_elem(&ports, &node);
  if (!sk || !data) return kSyscapOther;
  __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
  if (family != kIpv4 && family != kIpv6) return kSyscapOther;
  if (data->server && is_data_port(data, BPF_CORE_READ(sk, __sk_common.skc_num))) return kSyscapToClient;
  __u16 peer = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
  return is_data_port(data, peer) ? kSyscapToServer : kSyscapOther;
}

static __always_inline struct file* file_at(struct task_struct* task, int fd) {
  struct files_struct* files = task->files;
  if (!files) return 0;
  struct fdtable* table = files->fdt;
  if (!table || (__u32)fd >= table->max_fds) return 0;
  struct file** slots = table->fd;
  struct file* file = 0;
  bpf_probe_read_kernel(&file, sizeof file, slots + (__u32)fd);
  return file;
}

/* Makes sure that the log knows what this descriptor is. Returns its class in aggregating mode. */
static __noinline long know_fd(struct task_struct* task, int fd, const struct use* use) {
  if (fd < 0) return 0;
  struct file* file = file_at(task, fd);
  if (!file) return 0;
  struct inode* inode = BPF_CORE_READ(file, f_inode);
  struct syscap_fd_key key = {.process = use->process, .fd = fd};
  struct syscap_fd_value* value = bpf_map_lookup_elem(&fds, &key);
  int known = value && value->file == (__u64)file && value->inode == (__u64)inode && value->epoch == use->epoch;
  if (known && !use->changed && !use->made) return value->fd_class;
  struct syscap_fd_value fresh = {.file = (__u64)file, .inode = (__u64)inode, .epoch = use->epoch};
  if (config.sums) {
    fresh.fd_class = class_of(file, inode, use->node);
  } else {
    int late = use->made || (use->changed && known && !use->peer); /* connect itself is about its peer */
    if (!send_fd(file, inode, use, fd, late ? use->end_ns : use->start_ns)) return 0; /* the next use tries again */
  }
  if (value)
    *value = fresh;
  else if (bpf_map_update_elem(&fds, &key, &fresh, BPF_ANY))
    count_overflow();
  return fresh.fd_class;
}

static __always_inline void forget_fd(__u32 process, int fd) {
  struct syscap_fd_key key = {.process = process, .fd = fd};
  struct syscap_fd_value* value = bpf_map_lookup_elem(&fds, &key);
  if (value) value->file = 0;
}

struct closing {
  __u32 process;
  __u32 first;
};

static long forget_one(__u32 index, void* context) {
  struct closing* closing = context;
  forget_fd(closing->process, (int)(closing->first + index));
  return 0;
}

/* After close or close_range: the same number is another thing, even if the kernel uses the same memory for it. */
static __always_inline void forget_fds(struct task_struct* task, __u32 process, __u32 first, __u32 last) {
  enum { kMostClosed = 1 << 16 };
  struct closing closing = {.process = process, .first = first};
  struct files_struct* files = task->files;
  struct fdtable* table = files ? files->fdt : 0;
  if (!table || first > last) return;
  __u32 end = table->max_fds;
  if (last < end) end = last + 1;
  if (first >= end) return;
  __u32 count = end - first;
  if (count == 1) {
    forget_one(0, &closing);
    return;
  }
  bpf_loop(count < kMostClosed ? count : kMostClosed, forget_one, &closing, 0);
}
