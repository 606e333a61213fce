// Long CSV (time,node,source,device,metric,value) -> ImportTable. docs/formats/csv.md.
#pragma once

#include <string>

#include "store/import_table.h"

namespace culprit {

// Call once per file, then table.finish(true). Reads in blocks; a record longer than 1 MB is an error.
Status import_csv(const ReadFn& read, const std::string& name_for_errors, ImportTable& table);

}  // namespace culprit
