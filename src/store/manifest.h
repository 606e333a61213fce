// manifest.json of a run: what the run says about itself. docs/formats/run.md. Reading trusts nothing in it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/run.h"

namespace culprit {

std::string format_manifest(const Manifest& manifest);
Result<Manifest> parse_manifest(std::string_view text, const std::string& name_for_errors);

Result<Manifest> read_manifest(const std::string& run_directory);
Status write_manifest(const std::string& run_directory, const Manifest& manifest);  // atomically

}  // namespace culprit
