// CSSERV_LISTEN_PORT of mfschunkserver.cfg; 9420 and 9421 belong to the master and carry no file data.
// Chunks are in the folders of mfshdd.cfg, which no option names: `storage` in cluster.toml says them. A mount made by
// mount(8) through mount.moosefs runs as mfsmount, too.
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_moosefs;
const FsInfo fs_moosefs = {
    .name = "moosefs",
    .summary = "MooseFS: chunks served by mfschunkserver",
    .daemons = {"mfschunkserver"},
    .data_ports = {{9422, 9422}},
    .client_daemons = {"mfsmount"},
    .note = "",
};

}  // namespace culprit
