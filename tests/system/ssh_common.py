"""A real sshd in nodes of a lab, and the words that reach them from the lab's third party, x1."""
import os
import shutil
import subprocess
import sys
import tomllib

from lab_common import CULPRIT, SKIP, need, read

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def need_ssh():
    need("ip", "tc", "ethtool", "mkfs.xfs", "nsenter", "nft", "ssh", "ssh-keygen")
    if not os.access(SSHD, os.X_OK):
        print("skip: there is no sshd")
        sys.exit(SKIP)


def addresses(lab):
    """Node -> address, of all nodes of the lab."""
    cluster = tomllib.loads(read(lab.cluster))
    return {node["name"]: node["address"] for kind in ("server", "client", "other") for node in cluster.get(kind, [])}


def start_sshd(lab, nodes):
    path = lambda name: os.path.join(lab.folder, name)
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)], check=True)
    with open(path("sshd_config"), "w") as text:
        text.write("HostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
                   "PermitRootLogin prohibit-password\nAcceptEnv XDG_CACHE_HOME\nMaxStartups 100\nMaxSessions 100\n"
                   % (path("host"), path("user.pub")))
    where = addresses(lab)
    with open(path("host.pub")) as public, open(path("known_hosts"), "w") as known:
        key = public.read()
        known.writelines("%s %s" % (where[node], key) for node in nodes)
    with open(path("ssh_config"), "w") as text:
        text.write("IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\n"
                   "StrictHostKeyChecking yes\nSendEnv XDG_CACHE_HOME\n" % (path("user"), path("known_hosts")))
    for node in nodes:
        lab.sh(node, "mkdir -p /run/sshd && %s -f %s" % (SSHD, path("sshd_config")))


def from_third_party(lab):
    """The beginning of a command that runs in x1 and finds our keys."""
    return [CULPRIT, "lab", "exec", "x1", "--name", lab.name, "--", "env", "XDG_CACHE_HOME=/run/cache",
            "CULPRIT_SSH_OPTIONS=-F " + lab.folder + "/ssh_config"]
