// A folder `.culprit-ID` at the root of the server's local file system: what faults put there is in it, so that undo
// removes exactly that. Its name holds the injection's id, so that it is never somebody else's.
#pragma once

#include <string>

#include "base/result.h"
#include "inject/fault.h"

namespace culprit {

// Below the noted mount's target; an error when another file system (or none) is mounted there now.
Result<std::string> hidden_folder(const FaultWork& work);
Status make_hidden_folder(const FaultWork& work);
// With all files and folders in it; follows no links and leaves the file system nowhere. Harmless when it is gone.
Status remove_hidden_folder(const FaultWork& work);
Result<bool> hidden_folder_exists(const FaultWork& work);

}  // namespace culprit
