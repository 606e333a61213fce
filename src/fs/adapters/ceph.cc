// ms_bind_port_min and ms_bind_port_max (7300 before Ceph 17).
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_ceph;
const FsInfo fs_ceph = {
    .name = "ceph",
    .summary = "Ceph: ceph-osd",
    .daemons = {"ceph-osd"},
    .data_ports = {{6800, 7568}},
    .note = "managers and metadata servers take ports from the same range",
};

}  // namespace culprit
