// The regular files of a server's local file system, and a share of them by the seed's choice. A file with several
// names (a GlusterFS brick has two for each) is one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace culprit {

struct StoredFile {
  uint64_t inode = 0;
  std::vector<std::string> paths;  // below the folder, sorted so that names made up by the file system come last
};

// Sorted by their first name, so that a seed means the same again. Stays on the folder's file system.
Result<std::vector<StoredFile>> list_files(const std::string& folder);

// `percent` of them, rounded up; the order of the draw.
std::vector<StoredFile> choose_share(std::vector<StoredFile> files, double percent, uint64_t seed);

// Commands for debugfs that damage these files' inodes, one each.
std::string damage_script(const std::vector<StoredFile>& files, uint64_t seed);

}  // namespace culprit
