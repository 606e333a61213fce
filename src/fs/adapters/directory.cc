// The null member: the whole pipeline runs with it, without a file system.
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_directory;
const FsInfo fs_directory = {
    .name = "directory",
    .summary = "plain folders in place of a file system: for tests and for trying culprit out",
    .daemons = {},
    .data_ports = {},
    .note = "there is no daemon and no network in it: only disks can be judged",
};

}  // namespace culprit
