// The server's link carries less: packets above a rate are dropped in both directions, as a switch port that polices
// does. A qdisc would shape more gently, but there is one place for it per NIC, and it may be somebody's.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "inject/fault.h"
#include "inject/nft.h"

namespace culprit {

namespace {

constexpr int64_t kLeastBurst = 32'000;  // a few full packets, or TCP never gets off the ground

Result<NftRules> rules(const FaultWork& work) {
  ASSIGN_OR_RETURN(int64_t rate, bytes_param(work.part, "rate", 1'000, 4'000'000'000));
  int64_t burst = std::max(rate / 50, kLeastBurst);  // 20 ms
  std::string rule = cat("limit rate over ", rate, " bytes/second burst ", burst, " bytes drop");
  std::string direction = word_param(work.part, "direction");
  if (direction != "both" && direction != "in" && direction != "out")
    return usage_error(cat("slow_link: direction cannot be '", printable(direction), "'"), "it takes both, in or out");
  NftRules made;
  if (direction != "out") made.input.push_back(rule);
  if (direction != "in") made.output.push_back(rule);
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

extern const FaultInfo fault_slow_link;
const FaultInfo fault_slow_link = {
    .name = "slow_link",
    .summary = "the server's link carries less: packets above a rate are dropped",
    .params = {{"rate", "RATE", "2MB", "bytes per second in each direction"},
               {"direction", "WORD", "both", "both, in or out, as the server sees it"}},
    .tools = {"nft"},
    .prepare = prepare,
    .apply = apply,
    .prolong = nft_prolong,
    .undo = nft_undo,
    .active = nft_active,
};

}  // namespace culprit
