// `culprit syscap show`: what a capture saw, as text, as a table or for other tools.
#pragma once

#include "cli/command.h"

namespace culprit {

// args.positionals: "show", then a run or one .sclog. With a key, names of files are hashed before they are shown.
Result<int> show_calls(const Args& args, const std::string& hash_key);

}  // namespace culprit
