// What the children of a run said, and what of it matters: a workload's complaints for the journal, an injector's
// report on a fault that broke what it held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit {

// A workload's first complaints (stderr) and where it stood at the end (stdout), a few lines, each cut; "": nothing.
std::string first_and_last(std::string_view out, std::string_view err);

// Whether the only thing wrong with an injection (`culprit inject --json`) is that the fault was not there all the
// time: a daemon that could open no file gave up, and its limit went with it.
bool only_faded(const std::string& json);

}  // namespace culprit
