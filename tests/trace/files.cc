// Calls on files and folders: every way to read and write, names, attributes, and what makes and ends descriptors.
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "expect.h"

namespace {

using trace::asks;
using trace::on;

void write_all_ways(long fd) {
  char a[] = "0123456789", b[] = "abcdef";
  iovec both[] = {{a, 10}, {b, 6}};
  on("data"), asks(10);
  CALL(write, fd, a, 10);
  on("data"), asks(6);
  CALL(pwrite64, fd, b, 6, 100);
  on("data"), asks(16);
  CALL(writev, fd, both, 2);
  iovec many[40];
  for (iovec& each : many) each = {a, 1};
  on("data"), asks(40);
  CALL(writev, fd, many, 40);
  on("data"), asks(16);
  CALL(pwritev, fd, both, 2, 200, 0);
  on("data"), asks(16);
  CALL(pwritev2, fd, both, 2, 300, 0, 0);
}

void read_all_ways(long fd) {
  char a[16], b[512];
  iovec both[] = {{a, 4}, {b, 4}};
  on("data");
  CALL(lseek, fd, 0, SEEK_SET);
  on("data"), asks(5);
  CALL(read, fd, a, 5);
  on("data"), asks(3);
  CALL(pread64, fd, a, 3, 100);
  on("data"), asks(8);
  CALL(readv, fd, both, 2);
  on("data"), asks(8);
  CALL(preadv, fd, both, 2, 200, 0);
  on("data"), asks(8);
  CALL(preadv2, fd, both, 2, 300, 0, 0);
  asks(500);  // short: the file ends 10 bytes after this offset
  CALL(pread64, fd, b, 500, 306);
  asks(500);
  CALL(pread64, fd, b, 500, 9999);  // behind the end: 0
}

void change_size(long fd) {
  on("data");
  CALL(ftruncate, fd, 4096);
  CALL(truncate, "data", 2048);
  on("data");
  CALL(fallocate, fd, 0, 0, 8192);
  CALL(fsync, fd);
  CALL(fdatasync, fd);
  CALL(sync_file_range, fd, 0, 4096, 2);
  CALL(fadvise64, fd, 0, 0, 0);
  CALL(flock, fd, LOCK_EX | LOCK_NB);
}

void copy(long fd) {
  long other = CALL(creat, "copy", 0600);
  long offset = 0;
  CALL(sendfile, other, fd, &offset, 100);
  offset = 0;
  CALL(copy_file_range, fd, &offset, other, nullptr, 50, 0);
  CALL(close, other);
}

void names() {
  CALL(mkdir, "folder", 0755);
  CALL(mkdirat, AT_FDCWD, "folder/inner", 0755);
  CALL(rename, "copy", "folder/copy");
  CALL(renameat2, AT_FDCWD, "folder/copy", AT_FDCWD, "folder/other", 0);
  CALL(link, "folder/other", "folder/hard");
  CALL(symlink, "folder/other", "soft");
  char text[64];
  CALL(readlink, "soft", text, sizeof text);
  CALL(access, "folder/hard", R_OK);
  CALL(chmod, "folder/hard", 0640);
  CALL(utimensat, AT_FDCWD, "folder/hard", nullptr, 0);
  CALL(mknodat, AT_FDCWD, "fifo", S_IFIFO | 0600, 0);
  CALL(unlink, "folder/hard");
  CALL(unlinkat, AT_FDCWD, "folder/inner", AT_REMOVEDIR);
}

void attributes(long fd) {
  struct stat status;
  struct statx more;
  char value[32];
  CALL(stat, "data", &status);
  CALL(lstat, "soft", &status);
  on("data");
  CALL(fstat, fd, &status);
  CALL(newfstatat, AT_FDCWD, "data", &status, 0);
  CALL(statx, AT_FDCWD, "data", 0, STATX_SIZE, &more);
  CALL(setxattr, "data", "user.colour", "red", 3, 0);  // not every file system has these: then the refusal is the event
  CALL(getxattr, "data", "user.colour", value, sizeof value);
  CALL(fgetxattr, fd, "user.nothing", value, sizeof value);
  CALL(listxattr, "data", value, sizeof value);
  CALL(removexattr, "data", "user.colour");
}

void list_folder() {
  long fd = CALL(open, "folder", O_RDONLY | O_DIRECTORY);
  alignas(8) char entries[4096];
  on("folder");
  CALL(getdents64, fd, entries, sizeof entries);
  on("folder");
  CALL(getdents64, fd, entries, sizeof entries);
  long inside = CALL(openat, fd, "other", O_RDONLY);
  on("folder/other"), asks(10);
  CALL(read, inside, entries, 10);
  CALL(close, inside);
  CALL(close, fd);
}

// A number is used again for other things: a tracer must not confuse them.
void descriptors(long fd) {
  char byte[1];
  long twin = CALL(dup, fd);
  on("data"), asks(1);
  CALL(pread64, twin, byte, 1, 0);
  long other = CALL(openat, AT_FDCWD, "folder/other", O_RDONLY);
  CALL(dup2, other, twin);
  on("folder/other"), asks(1);
  CALL(pread64, twin, byte, 1, 0);
  CALL(dup3, fd, twin, O_CLOEXEC);
  on("data"), asks(1);
  CALL(pread64, twin, byte, 1, 0);
  long high = CALL(fcntl, fd, F_DUPFD, 40);
  on("data"), asks(1);
  CALL(pread64, high, byte, 1, 0);
  CALL(fcntl, fd, F_GETFL);
  CALL(close_range, twin, twin, 0);
  asks(1);
  CALL(pread64, twin, byte, 1, 0);  // EBADF
  CALL(close, other);
  long again = CALL(openat, AT_FDCWD, "data", O_RDONLY);
  on("data"), asks(1);
  CALL(pread64, again, byte, 1, 0);
  CALL(close_range, other, 60, 0);
}

void pipes() {
  int ends[2];
  char text[8];
  CALL(pipe2, ends, 0);
  asks(3);
  CALL(write, ends[1], "abc", 3);
  asks(8);
  CALL(read, ends[0], text, 8);
  CALL(close, ends[1]);
  asks(8);
  CALL(read, ends[0], text, 8);  // 0: nobody writes any more
  CALL(close, ends[0]);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  long fd = CALL(openat, AT_FDCWD, "data", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) trace::die("files: no file can be made here");
  write_all_ways(fd);
  read_all_ways(fd);
  change_size(fd);
  copy(fd);
  names();
  attributes(fd);
  list_folder();
  descriptors(fd);
  pipes();
  CALL(close, fd);
  return trace::finish();
}
