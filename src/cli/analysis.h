// What train and diagnose share: options to a detector and its parameters, runs to series.
#pragma once

#include <string>
#include <vector>

#include "analyse/detector.h"
#include "cli/command.h"

namespace culprit {

// "name=value" words into parameters. Diagnose refuses those that only matter to train.
Status apply_parameters(const std::vector<std::string>& words, const DetectorInfo& detector, bool training,
                        Parameters& parameters);

}  // namespace culprit
