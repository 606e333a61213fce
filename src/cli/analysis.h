// What train and diagnose share: options to a detector and its parameters, runs to series or system calls.
#pragma once

#include <string>
#include <vector>

#include "analyse/detector.h"
#include "cli/command.h"

namespace culprit {

// "name=value" words into parameters. Diagnose refuses those that only matter to train.
Status apply_parameters(const std::vector<std::string>& words, const DetectorInfo& detector, bool training,
                        Parameters& parameters);

// What a profile of a detector by system calls learned, for people.
std::string call_profile_text(const Profile& profile);

}  // namespace culprit
