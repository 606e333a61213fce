#define FUSE_USE_VERSION 314
#include "diskd/fuse_server.h"

#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr std::string_view kSuffix = ".img";
constexpr double kAttributeSeconds = 3600;  // only we could change them, and we never do
constexpr unsigned kMaxTransfer = 1 << 20;
constexpr unsigned kMaxBackground = 512;  // more than a loop device's 128 requests, for several disks

DiskSet& disks_of(fuse_req_t req) {
  return *static_cast<DiskSet*>(fuse_req_userdata(req));
}

// A descriptor keeps its disk alive.
std::shared_ptr<Disk>& disk_of(const fuse_file_info* file) {
  return *reinterpret_cast<std::shared_ptr<Disk>*>(file->fh);  // NOLINT: fuse keeps a 64-bit word for us
}

struct stat root_attributes() {
  struct stat info {};
  info.st_ino = FUSE_ROOT_ID;
  info.st_mode = S_IFDIR | 0500;
  info.st_nlink = 2;
  return info;
}

struct stat attributes(const Disk& disk) {
  struct stat info {};
  info.st_ino = disk.inode();
  info.st_mode = S_IFREG | 0600;
  info.st_nlink = 1;
  info.st_size = disk.size();
  info.st_blksize = 4096;
  info.st_blocks = disk.size() / 512;
  return info;
}

void on_init(void*, fuse_conn_info* connection) {
  connection->want |= connection->capable & (FUSE_CAP_ASYNC_DIO | FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ);  // its pipes cost more than they save here
  connection->max_write = connection->max_read = kMaxTransfer;       // max_read must be in the mount options, too
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kMaxBackground;
}

void on_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  std::string wanted = name;
  if (parent != FUSE_ROOT_ID || !wanted.ends_with(kSuffix)) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  wanted.resize(wanted.size() - kSuffix.size());
  auto disk = disks_of(req).by_name(wanted);
  if (!disk) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  fuse_entry_param entry{};
  entry.ino = disk->inode();
  entry.attr = attributes(*disk);
  entry.attr_timeout = kAttributeSeconds;
  entry.entry_timeout = 0;  // a name may be removed and come back
  fuse_reply_entry(req, &entry);
}

void on_getattr(fuse_req_t req, fuse_ino_t inode, fuse_file_info*) {
  struct stat info = root_attributes();
  if (inode != FUSE_ROOT_ID) {
    auto disk = disks_of(req).by_inode(inode);
    if (!disk) {
      fuse_reply_err(req, ENOENT);
      return;
    }
    info = attributes(*disk);
  }
  fuse_reply_attr(req, &info, kAttributeSeconds);
}

void on_readdir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  if (inode != FUSE_ROOT_ID) {
    fuse_reply_err(req, ENOTDIR);
    return;
  }
  std::string out(std::min<size_t>(size, 65536), '\0');
  size_t filled = 0;
  auto disks = disks_of(req).all();
  for (size_t i = static_cast<size_t>(offset); i < disks.size(); ++i) {
    struct stat info = attributes(*disks[i]);
    size_t need = fuse_add_direntry(req, out.data() + filled, out.size() - filled,
                                    cat(disks[i]->name(), kSuffix).c_str(), &info, static_cast<off_t>(i + 1));
    if (need > out.size() - filled) break;
    filled += need;
  }
  fuse_reply_buf(req, out.data(), filled);
}

void on_open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* file) {
  auto disk = disks_of(req).by_inode(inode);
  if (!disk) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  disk->opened(1);
  auto* held = new std::shared_ptr<Disk>(disk);
  file->fh = reinterpret_cast<uint64_t>(held);
  file->direct_io = 1;
  file->noflush = 1;
  if (fuse_reply_open(req, file) == -ENOENT) {  // the opener was interrupted: no release will come
    disk->opened(-1);
    delete held;
  }
}

void on_release(fuse_req_t req, fuse_ino_t, fuse_file_info* file) {
  std::shared_ptr<Disk>* held = &disk_of(file);
  (*held)->opened(-1);
  delete held;
  fuse_reply_err(req, 0);
}

void submit(fuse_req_t req, const fuse_file_info* file, DiskRequest request) {
  request.tag = req;
  disk_of(file)->submit(std::move(request));
}

void on_read(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
  DiskRequest request;
  request.op = DiskOp::read;
  request.offset = offset;
  request.bytes = static_cast<int64_t>(size);
  submit(req, file, std::move(request));
}

void on_write(fuse_req_t req, fuse_ino_t, const char* bytes, size_t size, off_t offset, fuse_file_info* file) {
  DiskRequest request;
  request.op = DiskOp::write;
  request.offset = offset;
  request.bytes = static_cast<int64_t>(size);
  request.source = bytes;
  submit(req, file, std::move(request));
}

void on_fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info* file) {
  DiskRequest request;
  request.op = DiskOp::flush;
  submit(req, file, std::move(request));
}

void on_fallocate(fuse_req_t req, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* file) {
  DiskRequest request;
  request.op = DiskOp::trim;
  request.offset = offset;
  request.bytes = length;
  request.trim_mode = mode;
  submit(req, file, std::move(request));
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = on_init;
  ops.lookup = on_lookup;
  ops.getattr = on_getattr;
  ops.readdir = on_readdir;
  ops.open = on_open;
  ops.release = on_release;
  ops.read = on_read;
  ops.write = on_write;
  ops.fsync = on_fsync;
  ops.fallocate = on_fallocate;
  return ops;
}

// From /proc/self/mountinfo and not by stat: that would ask ourselves, before we can answer.
Result<uint64_t> mounted_device(const std::string& mount) {
  ASSIGN_OR_RETURN(std::string text, read_file("/proc/self/mountinfo"));
  std::string_view rest = text, line;
  uint64_t device = 0;
  while (next_line(rest, line)) {
    auto words = split(line, ' ');
    if (words.size() < 5 || words[4] != mount) continue;
    auto numbers = split(words[2], ':');
    auto high = parse_int(numbers.front()), low = parse_int(numbers.back());
    if (high && low) device = makedev(static_cast<unsigned>(*high), static_cast<unsigned>(*low));
  }
  if (device == 0) return input_error(cat("the mount at ", mount, " did not appear"));
  return device;
}

}  // namespace

void FuseReplies::reply(void* tag, DiskOp op, int error, const char* data, int64_t bytes) {
  auto req = static_cast<fuse_req_t>(tag);
  if (error != 0 || op == DiskOp::flush || op == DiskOp::trim)
    fuse_reply_err(req, error);
  else if (op == DiskOp::read)
    fuse_reply_buf(req, data, static_cast<size_t>(bytes));
  else
    fuse_reply_write(req, static_cast<size_t>(bytes));
}

Result<std::unique_ptr<FuseServer>> FuseServer::start(DiskSet& disks, const std::string& mount) {
  struct stat info {};
  if (::stat(mount.c_str(), &info) != 0 && errno == ENOTCONN) ::umount2(mount.c_str(), MNT_DETACH);
  char* real = ::realpath(mount.c_str(), nullptr);
  if (!real) return system_error(cat("cannot mount at ", mount), errno, "make the folder first");
  std::unique_ptr<FuseServer> server(new FuseServer(real));
  ::free(real);

  fuse_args args{};
  for (const char* word : {"culprit-disk", "-o", "fsname=culprit-disk,subtype=culprit,max_read=1048576"})
    fuse_opt_add_arg(&args, word);
  static const fuse_lowlevel_ops ops = operations();
  server->session_ = fuse_session_new(&args, &ops, sizeof ops, &disks);
  fuse_opt_free_args(&args);
  if (!server->session_) return unsupported_error("libfuse refuses our mount options");
  if (fuse_session_mount(server->session_, server->mount_.c_str()) != 0)
    return system_error(cat("cannot mount at ", server->mount_), errno, "it needs root and /dev/fuse");
  // A child that inherited it would keep the mount's requests waiting after our death.
  ::fcntl(fuse_session_fd(server->session_), F_SETFD, FD_CLOEXEC);
  ASSIGN_OR_RETURN(server->device_, mounted_device(server->mount_));
  return server;
}

FuseServer::~FuseServer() {
  if (session_) fuse_session_destroy(session_);
}

void FuseServer::serve() {
  fuse_session_loop(session_);
}

void FuseServer::unmount() {
  ::umount2(mount_.c_str(), MNT_DETACH);
}

}  // namespace culprit
