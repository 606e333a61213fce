// The names in a folder, and small files, below the root that tests can move.
#pragma once

#include <string>
#include <vector>

namespace culprit {

std::vector<std::string> folder_names(
    const std::string& path);                      // sorted, without . and ..; empty when it cannot be read
std::string small_file(const std::string& path);   // its trimmed text; "" when it cannot be read
std::string link_target(const std::string& path);  // "" when it is not a symbolic link

}  // namespace culprit
