// Calls that fail, each for another reason. The path must be in the log, because a silent error without a name helps
// nobody.
#include <sys/stat.h>
#include <sys/wait.h>

#include "expect.h"

namespace {

using trace::fails_on;

void missing() {
  struct stat status;
  fails_on("nothing");
  CALL(openat, AT_FDCWD, "nothing", O_RDONLY);
  fails_on("no/such/folder/file");
  CALL(open, "no/such/folder/file", O_WRONLY | O_CREAT, 0644);
  fails_on("nothing");
  CALL(stat, "nothing", &status);
  fails_on("nothing");
  CALL(unlink, "nothing");
  fails_on("nothing");
  CALL(rename, "nothing", "something");
  fails_on("");
  CALL(openat, AT_FDCWD, "", O_RDONLY);
}

void below_a_folder() {
  CALL(mkdir, "folder", 0755);
  long folder = CALL(openat, AT_FDCWD, "folder", O_RDONLY | O_DIRECTORY);
  fails_on("/folder/nothing");
  CALL(openat, folder, "nothing", O_RDONLY);
  CALL(close, folder);
}

void wrong_kind() {
  fails_on("file/below");
  CALL(openat, AT_FDCWD, "file/below", O_RDONLY);  // ENOTDIR
  fails_on(".");
  CALL(openat, AT_FDCWD, ".", O_WRONLY);  // EISDIR
  fails_on("file");
  CALL(openat, AT_FDCWD, "file", O_WRONLY | O_CREAT | O_EXCL, 0644);  // EEXIST
  fails_on("file");
  CALL(rmdir, "file");
}

void endless() {
  CALL(symlink, "loop", "loop");
  fails_on("loop");
  CALL(openat, AT_FDCWD, "loop", O_RDONLY);  // ELOOP
  static char name[300];
  memset(name, 'x', sizeof name - 1);
  fails_on(name);
  CALL(openat, AT_FDCWD, name, O_RDONLY);  // ENAMETOOLONG
}

void bad_arguments() {
  CALL(openat, AT_FDCWD, nullptr, O_RDONLY);  // EFAULT
  CALL(openat, 77, "file", O_RDONLY);         // EBADF
  CALL(close, 77);
  CALL(read, -1, nullptr, 10);
}

// Nobody keeps root out: a child becomes somebody else.
void forbidden() {
  CALL(chmod, "file", 0);
  long child = CALL(fork);
  if (child == 0) {
    if (trace::raw(SYS_geteuid) == 0) CALL(setresuid, 65534, 65534, 65534);
    fails_on("file");
    CALL(openat, AT_FDCWD, "file", O_RDONLY);  // EACCES
    LAST_CALL(exit_group, 0);
  }
  int status = 0;
  CALL(wait4, child, &status, 0, nullptr);
  trace::note_exit(child, status);
}

}  // namespace

int main(int argc, char** argv) {
  trace::begin(argc, argv);
  long fd = CALL(openat, AT_FDCWD, "file", O_WRONLY | O_CREAT, 0644);
  CALL(close, fd);
  missing();
  below_a_folder();
  wrong_kind();
  endless();
  bad_arguments();
  forbidden();
  return trace::finish();
}
