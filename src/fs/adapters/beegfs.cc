// connStoragePort and connMetaPort.
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_beegfs;
const FsInfo fs_beegfs = {
    .name = "beegfs",
    .summary = "BeeGFS: beegfs-storage and beegfs-meta",
    .daemons = {"beegfs-storage", "beegfs-meta"},
    .data_ports = {{8003, 8003}, {8005, 8005}},
    .note = "the client is in the kernel; with RDMA its traffic is in no socket",
};

}  // namespace culprit
