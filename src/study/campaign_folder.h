// The directory of a campaign: plan.toml (as it was started), cluster.toml, journal.jsonl (one line per attempt, synced
// before the next begins), runs/ID.run. docs/formats/campaign.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/experiment.h"

namespace culprit {

std::string_view name_of(RunSet set);
std::string_view name_of(Outcome outcome);

std::string format_attempt(const Attempt& attempt);  // one line of JSON, with its line break
Result<Attempt> parse_attempt(std::string_view line);

// All attempts of a campaign's journal. A last line without a line break was cut off by a crash and is left out.
Result<std::vector<Attempt>> read_journal(const std::string& campaign);
Status append_attempt(const std::string& campaign, const Attempt& attempt);

// The attempts that count: kept ones, in the journal's order.
std::vector<Attempt> kept(const std::vector<Attempt>& attempts);

}  // namespace culprit
