#include "cli/record/registry.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/text.h"

namespace culprit {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string shared_folder() {
  return cat("/tmp/culprit-", static_cast<unsigned>(::geteuid()));
}

// Ours, and closed to others: in /tmp anybody could have made the folder first.
bool is_ours(const std::string& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 022) == 0;
}

// The path in a live entry; "" when it is stale, and then the file is removed.
std::string read_entry(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return "";
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) {  // a live recorder holds it exclusively
    ::unlink(path.c_str());
    return "";
  }
  auto text = read_file(path, 1 << 16);
  return text ? std::string(trim(*text)) : "";
}

}  // namespace

std::string registry_folder() {
  if (std::string own = variable("CULPRIT_RUNTIME_DIR"); !own.empty()) return own;
  if (::geteuid() == 0) return "/run/culprit";
  if (std::string session = variable("XDG_RUNTIME_DIR"); !session.empty()) return session + "/culprit";
  return shared_folder();
}

std::vector<std::string> registry_folders() {
  if (!variable("CULPRIT_RUNTIME_DIR").empty()) return {registry_folder()};
  std::vector<std::string> folders = {registry_folder()};
  if (folders[0] != shared_folder() && is_ours(shared_folder())) folders.push_back(shared_folder());
  return folders;
}

Result<Registration> Registration::enter(const std::string& folder, const std::string& run_path) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_error(cat("cannot make ", folder), errno);
  if (!is_ours(folder))
    return input_error(cat(folder, " belongs to somebody else or is open to others"),
                       "set CULPRIT_RUNTIME_DIR to a folder of your own");
  Registration entry;
  int pid = static_cast<int>(::getpid());
  std::string fresh =
      cat(folder, "/.new-", pid);  // named when it is locked: a reader never takes a new entry for a stale one
  entry.lock_.reset(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!entry.lock_.valid()) return system_error(cat("cannot write ", fresh), errno);
  if (::flock(entry.lock_.get(), LOCK_EX | LOCK_NB) != 0) return system_error(cat("cannot lock ", fresh), errno);
  RETURN_IF_ERROR(write_all(entry.lock_.get(), run_path + "\n", fresh));
  std::string path = cat(folder, "/", pid);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return system_error(cat("cannot write ", path), errno);
  entry.path_ = path;
  return entry;
}

Registration::Registration(Registration&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}

Registration::~Registration() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::vector<RunningRecording> running_recordings(const std::vector<std::string>& folders) {
  std::vector<RunningRecording> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
      auto pid = parse_int(file->path().filename().string());
      if (!pid || *pid <= 0 || *pid > INT32_MAX) continue;
      std::string run = read_entry(file->path().string());
      if (!run.empty()) found.push_back({static_cast<int>(*pid), run});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace culprit
