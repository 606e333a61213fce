#include "sample/folder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {

std::vector<std::string> folder_names(const std::string& path) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get()))
    if (std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string small_file(const std::string& path) {
  constexpr int64_t kMost = 4 << 20;  // /proc/stat of 1,000 CPUs and /proc/mounts of a container host have 100s of kB
  auto text = read_file(path, kMost);
  return text ? std::string(trim(*text)) : "";
}

std::string link_target(const std::string& path) {
  char target[256];
  ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : "";
}

}  // namespace culprit
