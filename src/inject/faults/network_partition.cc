// The server is cut off: from everybody, or from some nodes only. Loopback and the connection that controls the
// injection stay, or nobody could end it.
#include "base/text.h"
#include "inject/fault.h"
#include "inject/nft.h"

namespace culprit {

namespace {

Result<std::string> address_of(const FaultPlan& plan, std::string_view word) {
  const Node* node = plan.cluster->find(word);
  std::string address = node ? node->address : std::string(word);
  if (address.empty())
    return input_error(cat("network_partition needs the address of ", word), "add `address` to it in cluster.toml");
  auto valid = nft_address("saddr", address);
  if (valid) return address;
  return usage_error(cat("'", printable(word), "' is neither a node of the cluster nor an IP address"),
                     "write --param peers=s2,c1");
}

Result<std::vector<Participant>> plan(const FaultPlan& plan) {
  std::vector<std::string> peers;
  auto param = plan.params.find("peers");
  std::string words = param == plan.params.end() ? "" : param->second;
  for (std::string_view word : split(words, ',')) {
    if (word.empty()) continue;
    ASSIGN_OR_RETURN(std::string address, address_of(plan, word));
    peers.push_back(std::move(address));
  }
  std::vector<Participant> participants;
  for (const Node* target : plan.targets) participants.push_back({target, "target", peers});
  return participants;
}

Result<NftRules> rules(const FaultWork& work) {
  NftRules made;
  for (const std::string& peer : work.part.peers) {
    ASSIGN_OR_RETURN(std::string from, nft_address("saddr", peer));
    ASSIGN_OR_RETURN(std::string to, nft_address("daddr", peer));
    made.input.push_back(from + " drop");
    made.output.push_back(to + " drop");
  }
  if (work.part.peers.empty()) made = {.input = {"drop"}, .output = {"drop"}};
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

extern const FaultInfo fault_network_partition;
const FaultInfo fault_network_partition = {
    .name = "network_partition",
    .summary = "the server is cut off from the network; loopback and the control connection stay",
    .params = {{"peers", "WORD", "", "cut off only from these nodes or addresses, separated by commas"}},
    .tools = {"nft"},
    .plan = plan,
    .prepare = prepare,
    .apply = apply,
    .prolong = nft_prolong,
    .undo = nft_undo,
    .active = nft_active,
};

}  // namespace culprit
