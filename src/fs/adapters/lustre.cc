// The acceptor port of LNet's socket driver (accept_port of module lnet).
#include "fs/adapter.h"

namespace culprit {

extern const FsInfo fs_lustre;
const FsInfo fs_lustre = {
    .name = "lustre",
    .summary = "Lustre: servers and clients in the kernel",
    .daemons = {},
    .data_ports = {{988, 988}},
    .note =
        "servers and clients are kernel threads: there is no process whose I/O could be told apart, and over "
        "InfiniBand no socket either",
};

}  // namespace culprit
