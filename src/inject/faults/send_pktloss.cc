// Packets that the server sends are lost (001, section 9): at the input of every client, because a loss at the server's
// own output would be told to its TCP. So the clients take part, and count as targets.
#include "base/text.h"
#include "inject/fault.h"
#include "inject/nft.h"

namespace culprit {

namespace {

Result<std::vector<Participant>> plan(const FaultPlan& plan) {
  std::vector<std::string> addresses;
  for (const Node* target : plan.targets) {
    if (target->kind == NodeKind::client)
      return usage_error(cat("send_pktloss drops what a server sends, and ", target->name, " is a client"),
                         "name a server with --on");
    if (target->address.empty())
      return input_error(cat("send_pktloss needs the address of ", target->name),
                         "add `address` to it in cluster.toml");
    addresses.push_back(target->address);
  }
  std::vector<Participant> clients;
  for (const Node& node : plan.cluster->nodes) {
    if (node.kind == NodeKind::client) clients.push_back({&node, "client", addresses});
  }
  if (clients.empty())
    return input_error("send_pktloss works on the clients, and the cluster names none",
                       "add [[client]] to cluster.toml");
  return clients;
}

Result<NftRules> rules(const FaultWork& work) {
  ASSIGN_OR_RETURN(double percent, number_param(work.part, "percent", 0.01, 100));
  NftRules made;
  for (const std::string& peer : work.part.peers) {
    ASSIGN_OR_RETURN(std::string from, nft_address("saddr", peer));
    made.input.push_back(cat(from, " ", nft_drop(percent)));
  }
  if (made.input.empty()) return input_error("send_pktloss needs the address of a server");
  return made;
}

Status prepare(FaultWork& work) {
  ASSIGN_OR_RETURN(NftRules made, rules(work));
  return nft_prepare(work, made);
}

Status apply(FaultWork& work) {
  ASSIGN_OR_RETURN(NftRules made, rules(work));
  return nft_apply(work, made);
}

}  // namespace

extern const FaultInfo fault_send_pktloss;
const FaultInfo fault_send_pktloss = {
    .name = "send_pktloss",
    .summary = "packets that the server sends are lost, at all clients",
    .params = {{"percent", "PERCENT", "5", "how many of them, from 0.01"}},
    .tools = {"nft"},
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .prolong = nft_prolong,
    .undo = nft_undo,
    .active = nft_active,
};

}  // namespace culprit
