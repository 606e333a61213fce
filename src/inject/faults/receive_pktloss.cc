// Packets that arrive at the server are lost at random (001, section 9). At its input, because a loss at the output
// would be told to the sender's TCP, and would be none. The choice is the kernel's own: the seed does not repeat it.
#include "inject/fault.h"
#include "inject/nft.h"

namespace culprit {

namespace {

Result<NftRules> rules(const FaultWork& work) {
  ASSIGN_OR_RETURN(double percent, number_param(work.part, "percent", 0.01, 100));
  return NftRules{.input = {nft_drop(percent)}, .output = {}};
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

extern const FaultInfo fault_receive_pktloss;
const FaultInfo fault_receive_pktloss = {
    .name = "receive_pktloss",
    .summary = "packets that arrive at the server are lost",
    .params = {{"percent", "PERCENT", "5", "how many of them, from 0.01"}},
    .tools = {"nft"},
    .prepare = prepare,
    .apply = apply,
    .prolong = nft_prolong,
    .undo = nft_undo,
    .active = nft_active,
};

}  // namespace culprit
