// Port range: base-port and max-port of glusterd.vol; the range overlaps Linux' ephemeral ports (32768-60999).
// A brick's folder is in its command line. The FUSE client is glusterfs, and so are the self-heal daemon and gnfsd.
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_glusterfs;
const FsInfo fs_glusterfs = {
    .name = "glusterfs",
    .summary = "GlusterFS: bricks served by glusterfsd",
    .daemons = {"glusterfsd"},
    .data_ports = {{49152, 60999}},
    .client_daemons = {"glusterfs"},
    .storage_option = "--brick-name",
    .note =
        "bricks take ports from 49152 upwards, which a client may also use for its own end: give data_ports in "
        "cluster.toml to be exact",
};

}  // namespace culprit
