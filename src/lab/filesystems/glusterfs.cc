// GlusterFS 10. In `calm` the client's O_DIRECT goes through to the bricks, and no cache of Gluster's own is in the
// way: the papers' servers had none either. docs/lab.md says what each option changed.
#include "base/text.h"
#include "base/units.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

constexpr int64_t kStepTime = 60 * kNsPerSecond;
constexpr int kBrickPort = 49152;
constexpr int kLastPort = 49170;

// glusterd's files lie in the lab's folder; Gluster knows them only at their usual places.
constexpr std::string_view kPrepare = R"(set -e
mkdir -p /run/culprit-lab/glusterd /run/culprit-lab/log/bricks /run/gluster
cp -r /var/lib/glusterd/groups /var/lib/glusterd/hooks /run/culprit-lab/glusterd/ 2>/dev/null || true
mkdir -p /var/lib/glusterd /var/log/glusterfs
mount --bind /run/culprit-lab/glusterd /var/lib/glusterd
mount --bind /run/culprit-lab/log /var/log/glusterfs
)";

std::string server_script() {
  return cat(kPrepare, "mkdir -p /mnt/disk/brick\ncat > /run/culprit-lab/glusterd.vol <<END\nvolume management\n",
             "  type mgmt/glusterd\n  option working-directory /var/lib/glusterd\n  option transport-type socket\n",
             "  option transport.socket.listen-port 24007\n  option transport.socket.keepalive-time 10\n"
             "  option transport.socket.keepalive-interval 2\n  option transport.socket.read-fail-log off\n"
             "  option ping-timeout 0\n  option event-threads 1\n",
             "  option base-port ", kBrickPort, "\n  option max-port ", kLastPort, "\nend-volume\nEND\n",
             "glusterd --volfile=/run/culprit-lab/glusterd.vol --pid-file=/run/glusterd.pid\n");
}

// As much data as is a power of two (what the code is fastest with), if enough servers are left to vote.
int redundancy_of(int servers) {
  int data = 1;
  while (data * 2 < servers) data *= 2;
  int rest = servers - data;
  return rest * 2 < servers ? rest : 1;
}

int replicas_of(int servers) {
  if (servers <= 3) return servers;
  if (servers % 3 == 0) return 3;
  return servers % 2 == 0 ? 2 : servers;
}

std::string kind_words(const LabPlan& plan) {
  if (plan.layout == "disperse") return cat("disperse ", plan.servers, " redundancy ", redundancy_of(plan.servers));
  if (plan.layout == "replicate") return cat("replica ", replicas_of(plan.servers));
  return "";
}

std::string options(const LabPlan& plan) {
  std::string words = "network.ping-timeout 42";
  if (plan.layout == "disperse") words += " disperse.read-policy round-robin";
  if (plan.preset == "calm")
    words +=
        " performance.strict-o-direct on network.remote-dio disable performance.quick-read off"
        " performance.io-cache off performance.open-behind off ctime off";
  return words;
}

// Everybody must see everybody before a volume can be made.
Status join_peers(const Lab& lab) {
  std::vector<const LabNode*> servers = lab.servers();
  std::string probes = "set -e\n";
  for (size_t i = 1; i < servers.size(); ++i)
    probes += cat("gluster --mode=script peer probe ", servers[i]->address, " >/dev/null\n");
  RETURN_IF_ERROR(lab.wait_for(*servers[0], "gluster --mode=script peer status >/dev/null", kStepTime));
  if (auto done = lab.sh(*servers[0], probes, kStepTime); !done) return std::move(done).error();
  std::string all_there = cat("test $(gluster --mode=script pool list | grep -c Connected) -eq ", servers.size());
  return for_each_node(servers, [&](const LabNode& node) { return lab.wait_for(node, all_there, kStepTime); });
}

Status make_volume(const Lab& lab) {
  const LabPlan& plan = lab.plan();
  std::string bricks;
  for (const LabNode* server : lab.servers()) bricks += cat(" ", server->address, ":/mnt/disk/brick/lab");
  std::string script = cat("set -e\ngluster --mode=script volume create lab ", kind_words(plan), " transport tcp",
                           bricks, " force >/dev/null\ngluster --mode=script volume set lab ", options(plan),
                           " >/dev/null\ngluster --mode=script volume start lab >/dev/null\n");
  if (auto done = lab.sh(*lab.servers()[0], script, kStepTime); !done) return std::move(done).error();
  return Ok{};
}

Status mount_client(const Lab& lab, const LabNode& client) {
  std::string script = cat("glusterfs --volfile-server=", lab.servers()[0]->address,
                           " --volfile-id=lab --log-file=/var/log/glusterfs/client.log /mnt/lab\n");
  if (auto done = lab.sh(client, script, kStepTime); !done) return std::move(done).error();
  // A folder made and removed shows that the bricks answer; without it a first write may meet half of them.
  return lab.wait_for(client,
                      "grep -q ' /mnt/lab fuse.glusterfs ' /proc/mounts && mkdir -p /mnt/lab/.up-$(hostname) && rmdir "
                      "/mnt/lab/.up-$(hostname)",
                      kStepTime);
}

// A brick that cannot be asked says "-" instead of a number.
constexpr std::string_view kHeal = R"(
for try in $(seq 60); do
  left=$(gluster --mode=script volume heal lab info |
    awk '/^Number of entries:/ {seen = 1; if ($4 == "-") lost = 1; n += $4} END {print lost || !seen ? "unknown" : n}')
  test "$left" = 0 && exit 0
  test "$try" = 1 && gluster --mode=script volume heal lab >/dev/null 2>&1
  sleep 1
done
echo "files that wait to be healed: $left" >&2
exit 1
)";

Status heal(const Lab& lab) {
  if (lab.plan().layout == "distribute") return Ok{};
  if (auto done = lab.sh(*lab.servers()[0], std::string(kHeal), 2 * kStepTime); !done) return std::move(done).error();
  return Ok{};
}

Status start(const Lab& lab) {
  RETURN_IF_ERROR(for_each_node(lab.servers(), [&](const LabNode& node) -> Status {
    auto done = lab.sh(node, server_script(), kStepTime);
    if (!done) return std::move(done).error();
    return Ok{};
  }));
  RETURN_IF_ERROR(join_peers(lab));
  RETURN_IF_ERROR(make_volume(lab));
  return for_each_node(lab.clients(), [&](const LabNode& client) -> Status {
    if (auto done = lab.sh(client, std::string(kPrepare), kStepTime); !done) return std::move(done).error();
    return mount_client(lab, client);
  });
}

Status check(const LabPlan& plan) {
  if (plan.layout == "disperse" && plan.servers < 3)
    return usage_error("a disperse volume needs at least 3 servers", "--servers 5, or --layout distribute");
  if (plan.layout == "replicate" && plan.servers < 2)
    return usage_error("a replicated volume needs at least 2 servers", "--servers 3, or --layout distribute");
  return Ok{};
}

}  // namespace

extern const LabFs lab_glusterfs;
const LabFs lab_glusterfs = {
    .name = "glusterfs",
    .summary = "GlusterFS: disperse (each request on every server), distribute, replicate",
    .layouts = {"disperse", "distribute", "replicate"},
    .fragile = {"distribute"},
    .tools = {{"glusterd", "glusterfs-server"}, {"gluster", "glusterfs-server"}, {"glusterfs", "glusterfs-client"}},
    .server_roles = {"io", "meta", "management"},
    .data_ports = {{kBrickPort, kLastPort}},
    .check = check,
    .start = start,
    .mount = mount_client,
    .heal = heal,
    .mount_type = "fuse.glusterfs",
};

}  // namespace culprit
