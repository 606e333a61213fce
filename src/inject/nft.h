// Faults in the packet filter: a table of our own per injection, with a set of the node's NICs whose elements have a
// timeout. The rules match NICs of that set only, so when nobody prolongs the lease the kernel itself ends the fault.
// Tables of others are never read, changed or flushed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inject/fault.h"

namespace culprit {

// Rules without their NIC match, which is put before each: "ip saddr 10.0.0.1 drop".
struct NftRules {
  std::vector<std::string> input;   // of packets that come in
  std::vector<std::string> output;  // of packets that go out
};

// Preflight: which NICs, which control connection to spare, and that the kernel takes such a table.
Status nft_prepare(FaultWork& work, const NftRules& rules);
Status nft_apply(const FaultWork& work, const NftRules& rules);
Status nft_prolong(const FaultWork& work);
Status nft_undo(const FaultWork& work);
Result<bool> nft_active(const FaultWork& work);

// The whole text that apply gives to nft; apart, so that it can be tested.
Result<std::string> nft_table(const FaultWork& work, const NftRules& rules);

// "ip saddr 10.0.0.1" or "ip6 saddr fd00::1"; `side` is saddr or daddr. An error when it is no address.
Result<std::string> nft_address(std::string_view side, const std::string& address);
// "numgen random mod 10000 < 500 drop" for 5 per cent of the packets.
std::string nft_drop(double percent);

}  // namespace culprit
