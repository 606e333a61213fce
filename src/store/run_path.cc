#include "store/run_path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/text.h"
#include "store/run_schema.h"

namespace culprit {

namespace {

constexpr std::string_view kClosed = ".run";
constexpr std::string_view kPartial = ".run.partial";

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string_view without_ending(std::string_view name) {
  for (std::string_view ending : {kPartial, kClosed})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return name;
}

std::string similar_run(const std::string& wanted) {
  namespace fs = std::filesystem;
  fs::path path(wanted);
  std::error_code error;
  fs::directory_iterator it(path.has_parent_path() ? path.parent_path() : fs::path("."), error);
  std::vector<std::string> candidates;
  for (; !error && it != fs::directory_iterator() && candidates.size() < 1000; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (without_ending(name) != name) candidates.emplace_back(without_ending(name));
  }
  return did_you_mean(without_ending(path.filename().string()), candidates);
}

std::string parent_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status refuse_existing(const RunPaths& paths) {
  if (path_exists(paths.closed))
    return input_error(cat(paths.closed, " exists already"), "choose another name, or delete it first");
  if (!path_exists(paths.partial)) return Ok{};
  if (auto pid = live_recorder(paths.partial))
    return input_error(cat("another recorder (pid ", static_cast<int>(*pid), ") is writing ", paths.partial),
                       "choose another name, or stop that recorder");
  return input_error(cat(paths.partial, " exists already: its recorder did not finish"),
                     "it can be read as it is; choose another name, or delete it first");
}

}  // namespace

Result<RunPaths> run_paths(const std::string& path) {
  std::string_view name = path;
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  name = without_ending(name);
  if (name.empty() || name.ends_with('/') || name == "." || name == ".." || name.ends_with("/.") ||
      name.ends_with("/.."))
    return usage_error(cat("\"", printable(path), "\" is not a name for a run"), "give it a name, for example: monday");
  if (name.find('\0') != name.npos) return usage_error("a run's name cannot hold a zero byte");
  return RunPaths{cat(name, kClosed), cat(name, kPartial)};
}

Result<std::string> find_run(const std::string& path) {
  ASSIGN_OR_RETURN(RunPaths paths, run_paths(path));
  // A recorder may rename its run between two looks.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (path.find(kPartial) != path.npos && is_directory(paths.partial)) return paths.partial;
    if (is_directory(paths.closed)) return paths.closed;
    if (is_directory(paths.partial)) return paths.partial;
  }
  if (path_exists(cat(path, "/", kManifestFile))) return path;  // renamed by hand
  if (path_exists(path) && !is_directory(path))
    return input_error(cat(printable(path, 200), " is a file; a run is a folder"), "import it: culprit import --help");
  std::string similar = similar_run(path);
  return input_error(
      cat("there is no run ", printable(paths.closed, 200)),
      similar.empty() ? "runs are folders that end in .run; is the path right?" : cat("did you mean ", similar, "?"));
}

Status sync_directory(const std::string& path) {
  Fd fd(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename is then as durable as they make it.
  if (fd.valid() && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)
    return system_error(cat("cannot sync ", path), errno);
  return Ok{};
}

Status make_run_directory(const RunPaths& paths) {
  RETURN_IF_ERROR(refuse_existing(paths));
  if (::mkdir(paths.partial.c_str(), 0755) == 0) return Ok{};
  int error = errno;
  if (error == EEXIST) return refuse_existing(paths);
  return system_error(cat("cannot create ", paths.partial), error,
                      error == ENOENT ? "the folder it should be in does not exist" : "");
}

Status rename_closed(const RunPaths& paths) {
  if (::renameat2(AT_FDCWD, paths.partial.c_str(), AT_FDCWD, paths.closed.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || ::rename(paths.partial.c_str(), paths.closed.c_str()) != 0))
    return system_error(cat("cannot rename ", paths.partial, " to ", paths.closed), errno,
                        "did something else take that name meanwhile?");
  return sync_directory(parent_of(paths.closed));
}

Result<Fd> take_recorder_lock(const std::string& directory) {
  std::string path = cat(directory, "/", kLockFile);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return system_error(cat("cannot create ", path), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return system_error(cat("cannot lock ", path), errno);
  RETURN_IF_ERROR(write_all(fd.get(), cat(static_cast<int>(::getpid()), "\n"), path));
  return fd;
}

std::optional<pid_t> live_recorder(const std::string& directory) {
  std::string path = cat(directory, "/", kLockFile);
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  char digits[32] = {};
  ssize_t n = ::pread(fd.get(), digits, sizeof digits, 0);
  std::string_view text(digits, n > 0 ? static_cast<size_t>(n) : 0);
  return static_cast<pid_t>(parse_int(trim(text)).value_or(0));
}

Result<std::string> file_checksum(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return system_error(cat("cannot read ", path), errno);
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  if (!state) return system_error(cat("cannot read ", path), ENOMEM);
  XXH3_64bits_reset(state.get());
  std::vector<char> block(1 << 20);
  while (true) {
    ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(cat("cannot read ", path), errno);
    if (n == 0) break;
    XXH3_64bits_update(state.get(), block.data(), static_cast<size_t>(n));
  }
  char text[32];
  std::snprintf(text, sizeof text, "xxh3:%016llx", static_cast<unsigned long long>(XXH3_64bits_digest(state.get())));
  return std::string(text);
}

}  // namespace culprit
