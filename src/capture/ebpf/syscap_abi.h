/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * What the kernel side (syscap.bpf.c) and the user side of the ebpf backend tell each other: records of the ring
 * buffer, keys and values of the maps, settings. Plain C, because both compilers read it; sizes are asserted in
 * events.cc.
 */
#pragma once

#include <linux/types.h>

enum {
  kSyscapCalls = 512,           /* numbers from here on are not looked at */
  kSyscapSlots = 65536,         /* of `watched`: tgid & 0xffff */
  kSyscapMostPath = 2048,       /* bytes of a path that are kept, the last component may go beyond */
  kSyscapName = 256,            /* bytes of one component with its NUL */
  kSyscapText = 4096,           /* room for text: a power of two, so that a mask bounds every offset */
  kSyscapMostUserPath = 1024,   /* of a path that a failed call was given */
  kSyscapMostVectors = 16,      /* buffers of a vector that are read at once */
  kSyscapMostVectorBlocks = 64, /* IOV_MAX */
  kSyscapMostAio = 256,         /* requests of one io_submit, events of one io_getevents */
  kSyscapNoArg = 0xff,
  kSyscapCwd = -100, /* AT_FDCWD: the working folder instead of a descriptor */
};

/* ---- records of the ring buffer ---- */

enum syscap_type { /* the first five are CallKind */
                   kSyscapCall,
                   kSyscapSignal,
                   kSyscapExit,
                   kSyscapAio,
                   kSyscapUring,
                   kSyscapFd,
};

struct syscap_call {
  __u16 type;
  __u16 node;
  __s32 number;
  __u64 sequence;
  __u64 start_ns; /* monotonic */
  __s64 duration_ns;
  __s32 process;
  __s32 thread;
  __u64 args[6];
  __s64 result;
};

enum syscap_marks {
  kSyscapDeleted = 1,  /* its last name is gone */
  kSyscapPseudo = 2,   /* no path: the text is the name that an internal file system gave it */
  kSyscapCut = 4,      /* the walk to the root did not end */
  kSyscapUserPath = 8, /* the text is what a failed call was given; no descriptor */
};

struct syscap_fd {
  __u16 type;
  __u16 node;
  __s32 fd;       /* of a failed path: what it is relative to; kSyscapCwd */
  __u64 time_ns;  /* monotonic */
  __u64 sequence; /* of the failed call; 0 otherwise */
  __u64 inode;
  __s32 process;
  __u32 open_flags;
  __u32 device;
  __u32 special; /* i_rdev */
  __u32 magic;   /* of its file system */
  __u16 mode;
  __u16 marks;
  __u16 family; /* sockets, from here on */
  __u16 socket_type;
  __u16 protocol;
  __u16 local_port;
  __u16 peer_port;
  __u16 text_bytes;
  __u8 local[16]; /* IPv4: the first four */
  __u8 peer[16];
  char text[kSyscapText]; /* components with their NULs, the last one of the path first; only text_bytes are sent */
};

/* ---- settings: .rodata.config, before loading ---- */

enum syscap_call_flags {
  kSyscapWanted = 1,
  kSyscapClose = 2,     /* close and close_range: followed even when they are not wanted, or reuse would go unseen */
  kSyscapReturnsFd = 4, /* a result >= 0 is a new descriptor */
  kSyscapChangesFd = 8, /* connect, bind, listen, fcntl(F_SETFL): afterwards it is another thing; followed likewise */
  kSyscapSubmitsAio = 16,
  kSyscapReapsAio = 32,
};

enum syscap_vector { kSyscapNoVector, kSyscapIovec, kSyscapMsghdr };

struct syscap_call_info {
  __u8 flags;
  __u8 fd;           /* index of the argument; kSyscapNoArg */
  __u8 second_fd;    /* likewise: sendfile, splice, epoll_ctl */
  __u8 path;         /* likewise */
  __u8 vector;       /* syscap_vector; its pointer is args[1] */
  __u8 vector_bytes; /* where the sum goes: 5 or 4 */
  __u8 folder;       /* index of the descriptor that `path` is relative to; kSyscapNoArg: the working folder */
  __u8 pad;
};

struct syscap_config {
  struct syscap_call_info calls[kSyscapCalls];
  __u8 sums;            /* aggregating mode */
  __u8 has_homes;       /* there may be newcomers */
  __u8 exit_tells_last; /* sched_process_exit has an argument group_dead */
  __u8 sqe_has_context; /* io_uring_submit_sqe has the ring as its first argument */
  __u8 pad[4];
};

/* ---- the one variable that both sides write: .bss ---- */

struct syscap_shared {
  __u32 watched[kSyscapSlots]; /* targets per slot; 0: surely none */
  __u64 sequence;
  __u64 alive; /* processes in `targets` */
  __u64 epochs;
  __u64 foreign_calls; /* of 32-bit programs, which have other numbers */
  __u64 overflows;     /* targets, descriptors or requests that found their map full */
};

/* ---- maps ---- */

struct syscap_target {
  __u32 node;
  __u32 started; /* 0: nothing counts before its execve */
  __u64 epoch;   /* changes at exec: what was known of its descriptors is void */
};

struct syscap_fd_key {
  __u32 process;
  __s32 fd;
};

struct syscap_fd_value {
  __u64 file;
  __u64 inode;
  __u64 epoch;
  __u32 fd_class; /* syscap_class; aggregating mode only */
  __u32 pad;
};

enum syscap_class { /* FdClass */
                    kSyscapOther,
                    kSyscapStorage,
                    kSyscapToClient,
                    kSyscapToServer,
                    kSyscapFuse,
};

struct syscap_home { /* of a network namespace */
  __u32 node;
  __u32 all; /* every process that execs there */
};

struct syscap_name {
  __u32 node;
  char comm[16];
};

struct syscap_device {
  __u32 node;
  __u32 device;
};

struct syscap_ports { /* per node */
  __u32 server;
  __u32 pad;
  __u64 bits[1024]; /* data ports */
};

struct syscap_sum_key {
  __u16 node;
  __u16 fd_class;
  __u32 number;
};

struct syscap_sum {
  __u64 count;
  __u64 sum_ns;
  __u32 histogram[32];
};

struct syscap_error_key {
  __u16 node;
  __u16 fd_class;
  __u32 number;
  __u32 error;
};

struct syscap_aio_key {
  __u64 iocb;
  __u32 process;
  __u32 pad;
};

struct syscap_request { /* under way: AIO and io_uring */
  __u64 start_ns;
  __u64 sequence;
  __u64 bytes;
  __u64 offset;
  __u64 data; /* AIO: what the program calls it; io_uring: its ring (the name comes with the completion) */
  __s32 process;
  __s32 thread;
  __s32 fd;
  __u16 opcode;
  __u16 node;
};
