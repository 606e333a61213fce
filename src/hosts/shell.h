// Words made safe for the shell of another machine, which may be any: what is written here means the same to sh and
// csh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

// One word, quoted only when needed; and a whole command. A '!' never stands between quotes, because csh looks for it
// there. A newline would survive sh only.
std::string shell_quote(std::string_view word);
std::string shell_command(const std::vector<std::string>& words);

}  // namespace culprit
