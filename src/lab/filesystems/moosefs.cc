// MooseFS 3: a master on a node of its own (m1), a chunk server on each server. A chunk of 64 MB lies whole on as many
// servers as its goal says, so servers are only as alike as there are many files.
#include "base/text.h"
#include "base/units.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

constexpr int64_t kStepTime = 30 * kNsPerSecond;

constexpr std::string_view kMaster = R"(set -e
d=/run/culprit-lab/mfs
mkdir -p $d
printf 'MFSM NEW' > $d/metadata.mfs
echo '*  /  rw,alldirs,admin,maproot=0:0' > $d/exports.cfg
cat > $d/master.cfg <<END
WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = $d
EXPORTS_FILENAME = $d/exports.cfg
TOPOLOGY_FILENAME = $d/topology.cfg
CHUNKS_LOOP_MIN_TIME = 60
END
: > $d/topology.cfg
mfsmaster -c $d/master.cfg start >$d/master.out 2>&1 || { cat $d/master.out >&2; exit 1; }
)";

std::string chunk_script(const LabNode& master) {
  return cat(R"(set -e
d=/run/culprit-lab/mfs
mkdir -p $d /mnt/disk/chunks
echo /mnt/disk/chunks > $d/hdd.cfg
cat > $d/chunk.cfg <<END
WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = $d
HDD_CONF_FILENAME = $d/hdd.cfg
HDD_LEAVE_SPACE_DEFAULT = 32MiB
MASTER_HOST = )",
             master.address, R"(
MASTER_RECONNECTION_DELAY = 1
END
mfschunkserver -c $d/chunk.cfg start >$d/chunk.out 2>&1 || { cat $d/chunk.out >&2; exit 1; }
)");
}

Status all_chunk_servers_there(const Lab& lab, const LabNode& client, const LabNode& master) {
  return lab.wait_for(
      client, cat("test $(mfscli -H ", master.address, " -SCS -s ';' | grep -c ';9422;') -eq ", lab.plan().servers),
      kStepTime);
}

Status mount_client(const Lab& lab, const LabNode& client) {
  std::string goal = lab.plan().layout.substr(4);  // goal2
  return lab.wait_for(
      client,
      cat("grep -q ' /mnt/lab fuse ' /proc/mounts || mfsmount /mnt/lab -H ", lab.find("m1")->address,
          " >/dev/null 2>&1; grep -q ' /mnt/lab fuse ' /proc/mounts && mfssetgoal -r ", goal, " /mnt/lab >/dev/null"),
      kStepTime);
}

Status start(const Lab& lab) {
  const LabNode& master = *lab.find("m1");
  if (auto done = lab.sh(master, std::string(kMaster), kStepTime); !done) return std::move(done).error();
  RETURN_IF_ERROR(for_each_node(lab.servers(), [&](const LabNode& node) -> Status {
    auto done = lab.sh(node, chunk_script(master), kStepTime);
    if (!done) return std::move(done).error();
    return Ok{};
  }));
  RETURN_IF_ERROR(all_chunk_servers_there(lab, master, master));
  return for_each_node(lab.clients(), [&](const LabNode& client) { return mount_client(lab, client); });
}

Status check(const LabPlan& plan) {
  int goal = plan.layout.back() - '0';
  if (plan.servers >= goal) return Ok{};
  return usage_error(cat(plan.layout, " needs at least ", goal, " servers"));
}

}  // namespace

extern const LabFs lab_moosefs;
const LabFs lab_moosefs = {
    .name = "moosefs",
    .summary = "MooseFS: whole chunks on 1, 2 or 3 servers; its master is the node m1",
    .layouts = {"goal2", "goal1", "goal3"},
    .fragile = {"goal1"},
    .tools = {{"mfsmaster", "moosefs-master"},
              {"mfschunkserver", "moosefs-chunkserver"},
              {"mfsmount", "moosefs-client"},
              {"mfscli", "moosefs-cli"}},
    .master = "m1",
    .check = check,
    .start = start,
    .mount = mount_client,
    .mount_type = "fuse",
};

}  // namespace culprit
