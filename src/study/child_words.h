// What the children of a run said, and what of it matters: a workload's complaints for the journal, an injector's
// report on a fault that broke what it held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culprit {

// Reads what is there, always, so that no child ever waits for us; of more than `limit` bytes the middle is forgotten.
void read_ends(int fd, std::string& text, size_t limit);

// A workload's first complaints (stderr) and where it stood at the end (stdout), a few lines, each cut; "": nothing.
std::string first_and_last(std::string_view out, std::string_view err);

// The first error that a command of ours printed (stderr) and the hint below it, without their labels; else all it
// said.
struct ErrorWords {
  std::string what;
  std::string hint;
};
ErrorWords first_error(std::string_view err);

// Whether the only thing wrong with an injection (`culprit inject --json`) is that the fault was not there all the
// time: a daemon that could open no file gave up, and its limit went with it.
bool only_faded(const std::string& json);

}  // namespace culprit
