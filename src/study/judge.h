// Was the verdict right? An attempt whose truth is known and a verdict on its run make a row, scored by rule 16
// (docs/fast10.md), which is how the FAST'10 paper counts (section 11, footnote 5).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/verdict.h"
#include "study/row.h"

namespace culprit {

// What a detector should call this fault: disk_hog is disk-hog, or disk-slow for one that sees only how long calls
// take. A fault that no detector has a word for: only the server is scored.
bool has_right_cause(std::string_view fault);
bool is_right_cause(std::string_view fault, std::string_view cause);

// Whether this accusation finds the victim, that is, names it and is not over before the injection. All others are
// false.
bool finds_victim(const Row& row, const RowAccusation& accused);

// Sets itp, ifp, dtp, dfp and latency_s from the rest of the row. ITP: the victim is found. IFP: any other accusation.
// DTP: one of those that find the victim has the right cause. DFP: one of them has a wrong one, or IFP.
void score_row(Row& row);

// `verdict` says what it looked at (servers, from, until, interval) and who looked.
Row judge(const std::string& campaign, const Attempt& attempt, const Verdict& verdict,
          const std::map<std::string, double>& changed);

}  // namespace culprit
