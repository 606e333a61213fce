// The port of the server configuration's Alias lines as pvfs2-genconfig writes them. The client's daemon is
// pvfs2-client-core; /proc/PID/comm has 15 characters of it.
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_orangefs;
const FsInfo fs_orangefs = {
    .name = "orangefs",
    .summary = "OrangeFS (PVFS2): pvfs2-server",
    .daemons = {"pvfs2-server"},
    .data_ports = {{3334, 3334}},
    .client_daemons = {"pvfs2-client-co"},
    .note = "metadata and data share one port and one process",
};

}  // namespace culprit
