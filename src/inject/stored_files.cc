#include "inject/stored_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "base/text.h"

namespace culprit {

namespace {

namespace files = std::filesystem;

constexpr size_t kMostFiles = 5'000'000;  // memory

// Names with a part that begins with a dot are mostly made up by the file system (.glusterfs/ab/cd/abcd...).
bool name_less(const std::string& a, const std::string& b) {
  auto hidden = [](const std::string& name) { return name.starts_with('.') || name.find("/.") != std::string::npos; };
  if (hidden(a) != hidden(b)) return hidden(b);
  return a < b;
}

// What is done to an inode. e2fsck then clears it, cuts it or moves it to lost+found: the losses that PFault studies.
constexpr std::array<std::string_view, 5> kDamage = {"clri <INODE>", "sif <INODE> mode 0", "sif <INODE> links_count 0",
                                                     "sif <INODE> size 0", "sif <INODE> block[0] 1"};

}  // namespace

Result<std::vector<StoredFile>> list_files(const std::string& folder) {
  struct stat top {};
  if (::stat(folder.c_str(), &top) != 0) return system_error(cat("cannot look at ", folder), errno);
  std::map<uint64_t, StoredFile> found;
  std::error_code error;
  files::recursive_directory_iterator entry(folder, files::directory_options::none, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (::lstat(entry->path().c_str(), &info) != 0) continue;  // gone meanwhile
    if (info.st_dev != top.st_dev && entry->is_directory(error)) entry.disable_recursion_pending();
    if (!S_ISREG(info.st_mode) || info.st_dev != top.st_dev) continue;
    StoredFile& file = found[info.st_ino];
    file.inode = info.st_ino;
    file.paths.push_back(entry->path().string().substr(folder.size() + (folder.ends_with('/') ? 0 : 1)));
    if (found.size() > kMostFiles) return unsupported_error(cat(folder, " holds more than ", kMostFiles, " files"));
  }
  if (error) return system_error(cat("cannot read the files of ", folder), error.value());
  std::vector<StoredFile> list;
  for (auto& [inode, file] : found) {
    std::sort(file.paths.begin(), file.paths.end(), name_less);
    list.push_back(std::move(file));
  }
  std::sort(list.begin(), list.end(),
            [](const StoredFile& a, const StoredFile& b) { return name_less(a.paths[0], b.paths[0]); });
  return list;
}

std::vector<StoredFile> choose_share(std::vector<StoredFile> files, double percent, uint64_t seed) {
  auto count = static_cast<size_t>(std::ceil(static_cast<double>(files.size()) * percent / 100));
  count = std::min(count, files.size());
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < count; ++i) std::swap(files[i], files[i + random() % (files.size() - i)]);
  files.resize(count);
  return files;
}

std::string damage_script(const std::vector<StoredFile>& files, uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x64616d616765);  // another sequence than the choice of files
  std::string script;
  for (const StoredFile& file : files) {
    std::string line(kDamage[random() % kDamage.size()]);
    line.replace(line.find("INODE"), 5, std::to_string(file.inode));
    script += line + "\n";
  }
  return script;
}

}  // namespace culprit
