/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
 *
 * The few fields of the kernel's structs that syscap.bpf.c reads. Their places are looked up in the running kernel's
 * own type information when the programs are loaded (CO-RE), so only names and types matter here, not order or size.
 */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
  unsigned long di, si, dx, r10, r8, r9, orig_ax;
};

struct qstr {
  const unsigned char* name;
};

struct hlist_bl_node {
  struct hlist_bl_node** pprev;
};

struct super_block {
  __u32 s_dev;
  unsigned long s_magic;
};

struct inode {
  unsigned short i_mode;
  struct super_block* i_sb;
  unsigned long i_ino;
  __u32 i_rdev;
};

struct dentry {
  struct hlist_bl_node d_hash;
  struct dentry* d_parent;
  struct qstr d_name;
};

struct vfsmount {
  struct dentry* mnt_root;
};

struct mount {
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
};

struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};

struct file {
  void* private_data;
  struct inode* f_inode;
  unsigned int f_flags;
  struct path f_path;
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

struct fs_struct {
  struct path pwd;
};

struct ns_common {
  unsigned int inum;
};

struct net {
  struct ns_common ns;
};

struct nsproxy {
  struct net* net_ns;
};

typedef struct {
  int counter;
} atomic_t;

struct task_struct;

struct signal_struct {
  atomic_t live;
  struct task_struct* group_exec_task;
  int group_exit_code;
  unsigned int flags;
};

struct thread_info {
  __u32 status;
};

struct task_struct {
  struct thread_info thread_info;
  unsigned int flags;
  int exit_code;
  int pid;
  int tgid;
  struct task_struct* group_leader;
  struct fs_struct* fs;
  struct files_struct* files;
  struct nsproxy* nsproxy;
  struct signal_struct* signal;
};

struct in6_addr {
  union {
    __u8 u6_addr8[16];
  } in6_u;
};

struct sock_common {
  __u32 skc_daddr;
  __u32 skc_rcv_saddr;
  __u16 skc_dport;
  __u16 skc_num;
  unsigned short skc_family;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
  struct sock_common __sk_common;
  __u16 sk_protocol;
  __u16 sk_type;
};

struct socket {
  struct sock* sk;
};

struct sockaddr_un {
  unsigned short sun_family;
  char sun_path[108];
};

struct unix_address {
  int len;
  struct sockaddr_un name[0];
};

struct unix_sock {
  struct unix_address* addr;
  struct sock* peer;
};

union __sifields {
  struct {
    int _pid;
  } _kill;
};

struct kernel_siginfo {
  int si_code;
  union __sifields _sifields;
};

struct io_cqe {
  int fd;
};

struct io_ring_ctx;

struct io_kiocb {
  __u8 opcode;
  unsigned int flags; /* the lower half where the kernel has 64 bits */
  struct io_cqe cqe;
  struct io_ring_ctx* ctx;
};

struct io_close {
  int fd;
  __u32 file_slot; /* not 0: a registered file, which has no number */
};

struct kiocb {
  long long ki_pos;
};

struct io_rw {
  struct kiocb kiocb;
  __u64 addr;
  __u32 len;
};

struct io_sr_msg {
  int len;
};

struct io_uring_cqe {
  __u64 user_data;
  __s32 res;
  __u32 flags;
};

struct bpf_iter__task {
  struct task_struct* task;
};

#pragma clang attribute pop
