// As on the papers' machines: TCP is reno, and no offload hides packets from the faults (with segmentation offload one
// drop takes 64 kB at once).
#include "lab/network.h"

#include "base/text.h"
#include "base/units.h"
#include "hosts/keeper.h"

namespace culprit {

namespace {

constexpr int64_t kCommandTime = 10 * kNsPerSecond;
constexpr std::string_view kOffloads = " tso off gso off gro off tx off rx off sg off >/dev/null";

int64_t link_rate(const Lab& lab, const LabNode& node) {
  if (node.kind == NodeKind::client) return lab.plan().client_link;
  return node.kind == NodeKind::server ? lab.plan().server_link : kUnshaped;
}

// A queue of 100 ms: TCP fills it before it loses, as it would a switch's buffer.
std::string shape(std::string_view device, int64_t bits) {
  if (bits == kUnshaped) return "";
  return cat("tc qdisc replace dev ", device, " root handle 77: tbf rate ", bits, "bit burst 32kb latency 100ms\n");
}

// Names are looked up in the lab alone: a daemon that asks a name server it cannot reach stands still for a minute.
std::string names_script(const Lab& lab) {
  std::string hosts = "127.0.0.1 localhost\n";
  for (const LabNode& node : lab.nodes()) hosts += cat(node.address, " ", node.name, " ", node.ns, "\n");
  return cat(
      "cat > /run/culprit-lab/hosts <<END\n", hosts, "END\n", ": > /run/culprit-lab/resolv.conf\n",
      "mount --bind /run/culprit-lab/hosts /etc/hosts\n",
      "test ! -e /etc/resolv.conf || mount --bind /run/culprit-lab/resolv.conf \"$(readlink -f /etc/resolv.conf)\" "
      "2>/dev/null || true\n");
}

std::string node_script(const Lab& lab, const LabNode& node) {
  return cat("set -e\n", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true\n",
             "ip link set lo up\n", "ip addr add ", node.address, "/24 dev eth0\n", "ip link set eth0 up\n",
             "ethtool -K eth0", kOffloads, "\n", shape("eth0", link_rate(lab, node)),
             "echo reno > /proc/sys/net/ipv4/tcp_congestion_control\n", names_script(lab));
}

}  // namespace

LabNode switch_of(const Lab& lab) {
  return {"net", NodeKind::other, "", {}, cat(lab.plan().name, "-net"), ""};
}

Status make_network(const Lab& lab) {
  LabNode net = switch_of(lab);
  std::string script =
      "set -e\necho 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true\nip link set lo up\nip link add "
      "br0 type bridge\nip link set br0 up\n";
  for (const LabNode& node : lab.nodes()) {
    ASSIGN_OR_RETURN(ProcessId keeper, find_keeper(node.ns));
    // The link is made outside of any node and its ends are sent there: `ip` knows processes by their number here.
    std::string port = cat("p-", node.name);
    ASSIGN_OR_RETURN(ProcessId switch_keeper, find_keeper(net.ns));
    ASSIGN_OR_RETURN(Output made,
                     run_command({"nsenter", cat("--target=", switch_keeper.pid), "--net", "ip", "link", "add", port,
                                  "type", "veth", "peer", "name", "eth0", "netns", std::to_string(keeper.pid)},
                                 kCommandTime));
    if (made.exit_code != 0)
      return system_error(cat("cannot make the link of ", node.name, ": ", printable(trim(made.err), 200)), 0);
    script += cat("ip link set ", port, " master br0 up\n", "ethtool -K ", port, kOffloads, "\n",
                  shape(port, link_rate(lab, node)));
  }
  if (auto done = lab.sh(net, script, kCommandTime); !done) return std::move(done).error();
  std::vector<const LabNode*> all;
  for (const LabNode& node : lab.nodes()) all.push_back(&node);
  return for_each_node(all, [&](const LabNode& node) -> Status {
    auto done = lab.sh(node, node_script(lab, node), kCommandTime);
    if (!done) return std::move(done).error();
    return Ok{};
  });
}

}  // namespace culprit
