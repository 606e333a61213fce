// The two blocks of a log that are JSON: what it says about itself at its beginning, and at its end.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "calls/call_log.h"

namespace culprit {

std::string format_log_header(const LogHeader& header);
// Members that are not there keep their defaults, unknown ones are ignored; `name` is the file's, for messages.
Result<LogHeader> parse_log_header(std::string_view text, const std::string& name);

std::string format_log_end(const LogEnd& end);
Result<LogEnd> parse_log_end(std::string_view text, const std::string& name);

}  // namespace culprit
