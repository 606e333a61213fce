// A verdict as people read it and as programs do. Both say the same.
#pragma once

#include <string>

#include "model/verdict.h"

namespace culprit {

std::string verdict_text(const Verdict& verdict);
std::string verdict_json(const Verdict& verdict);  // docs/formats/verdict.md; ends with a newline

// One sentence on one metric: "its disks read 11.9 MB/s there, 0-8 kB/s on its 4 peers, in 9 of 9 windows".
std::string evidence_text(const Evidence& evidence);
std::string value_text(double value, const std::string& unit);  // sectors/s and bytes/s as kB/s or MB/s

}  // namespace culprit
