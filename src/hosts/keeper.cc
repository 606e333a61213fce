#include "hosts/keeper.h"

#include "base/fd.h"
#include "base/text.h"

namespace culprit {

std::string keeper_file(std::string_view name) {
  return cat(kKeeperFolder, "/", name);
}

Result<ProcessId> find_keeper(std::string_view name) {
  auto text = read_file(keeper_file(name));
  if (!text)
    return system_error(cat("there is no lab node ", name), 0, "`culprit lab list` shows the labs that are up");
  ASSIGN_OR_RETURN(ProcessId keeper, parse_process(*text));
  if (!is_alive(keeper))
    return system_error(cat("the lab node ", name, " is dead"), 0, "take the lab down with `culprit lab down`");
  return keeper;
}

}  // namespace culprit
