// Reads and writes a profile: JSON, docs/formats/profile.md.
#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace culprit {

Result<Profile> parse_profile(const std::string& text, const std::string& name_for_errors);
Result<Profile> read_profile(const std::string& path);
std::string format_profile(const Profile& profile);

}  // namespace culprit
