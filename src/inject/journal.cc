#include "inject/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace culprit {

namespace {

constexpr off_t kReserve = 65536;  // for the notes that apply adds
constexpr std::string_view kSuffix = ".journal";
constexpr std::string_view kUnborn = ".new-";  // until it is written and locked
constexpr std::string_view kKeptFolder = "/var/lib/culprit/faults";
constexpr std::string_view kLabFolder = "/run/culprit-lab";  // only a lab's node has it

Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return Ok{};
  return system_error(cat("cannot make ", folder), errno);
}

Status sync_folder(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return system_error(cat("cannot sync ", folder), errno);
  return Ok{};
}

Status write_new(const Fd& file, const std::string& path, std::string_view text) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return system_error(cat("cannot lock ", path), errno);
  auto size = static_cast<off_t>(text.size());
  if (::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, size + kReserve) != 0 && errno != EOPNOTSUPP)
    return system_error(cat("cannot set aside space for ", path), errno);
  RETURN_IF_ERROR(write_all(file.get(), text, path));
  if (::fsync(file.get()) != 0) return system_error(cat("cannot sync ", path), errno);
  return Ok{};
}

FoundJournal look_at(const std::string& path) {
  FoundJournal found;
  found.path = path;
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    found.problem = cat("cannot open it: ", system_error("", errno).message());
    return found;
  }
  auto text = read_file(path, static_cast<int64_t>(kMaxJournalBytes));
  auto parsed = text ? parse_journal(*text) : Result<JournalText>(text.error());
  if (parsed) found.text = std::move(*parsed);
  if (!parsed) found.problem = parsed.error().message();
  found.file = std::move(file);
  return found;
}

bool is_namespace(const std::filesystem::path& path, uint64_t inode) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_ino == inode;
}

}  // namespace

std::string runtime_folder() {
  const char* own = std::getenv("CULPRIT_RUNTIME_DIR");
  return own && *own ? own : "/run/culprit";
}
std::string faults_folder() {
  return runtime_folder() + "/faults";
}
std::string stop_file() {
  return runtime_folder() + "/STOP";
}

Status make_faults_folder() {
  RETURN_IF_ERROR(make_folder(runtime_folder()));
  return make_folder(faults_folder());
}

std::string kept_faults_folder() {
  const char* own = std::getenv("CULPRIT_RUNTIME_DIR");
  bool runtime = (own && *own) || path_exists(std::string(kLabFolder));
  return runtime ? faults_folder() : std::string(kKeptFolder);
}

Status make_kept_faults_folder() {
  std::string folder = kept_faults_folder();
  RETURN_IF_ERROR(make_folder(folder.substr(0, folder.rfind('/'))));
  return make_folder(folder);
}

std::vector<std::string> journal_folders() {
  std::vector<std::string> folders = {faults_folder()};
  if (kept_faults_folder() != folders[0]) folders.push_back(kept_faults_folder());
  return folders;
}

Result<Journal> Journal::create(const std::string& folder, const JournalText& text) {
  std::string name = cat(text.part.id, ".", text.part.node);
  std::string fresh = cat(folder, "/", kUnborn, name);  // locked before it gets its name: never taken for an orphan
  Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return system_error(cat("cannot write ", fresh), errno);
  Status written = write_new(file, fresh, format_journal(text));
  std::string path = cat(folder, "/", name, kSuffix);
  if (written && ::link(fresh.c_str(), path.c_str()) != 0) written = system_error(cat("cannot write ", path), errno);
  ::unlink(fresh.c_str());
  if (written) written = sync_folder(folder);
  if (!written) return std::move(written).error();
  return Journal(path, std::move(file));
}

Status Journal::append(std::string_view lines) {
  RETURN_IF_ERROR(write_all(file_.get(), lines, path_));
  if (::fdatasync(file_.get()) != 0) return system_error(cat("cannot sync ", path_), errno);
  return Ok{};
}

Status Journal::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return system_error(cat("cannot remove ", path_), errno);
  return Ok{};
}

std::vector<FoundJournal> find_journals(const std::string& folder,
                                        const std::function<bool(const FoundJournal& journal)>& wanted) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    std::string name = file->path().filename().string();
    if (name[0] != '.' && name.ends_with(kSuffix)) paths.push_back(file->path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<FoundJournal> found;
  if (error && error != std::errc::no_such_file_or_directory) {  // what is in it is not known, which is not "nothing"
    FoundJournal unread;
    unread.path = folder;
    unread.problem = cat("cannot look into it: ", error.message());
    found.push_back(std::move(unread));
  }
  for (const std::string& path : paths) {
    FoundJournal journal = look_at(path);
    if (!wanted(journal)) continue;
    if (journal.file.valid() && ::flock(journal.file.get(), LOCK_EX | LOCK_NB) != 0) journal.file.reset();
    if (path_exists(path)) found.push_back(std::move(journal));  // its guard may just have removed it
  }
  return found;
}

void remove_unborn(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    if (!file->path().filename().string().starts_with(kUnborn)) continue;
    Fd fd(::open(file->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file->path().c_str());
  }
}

uint64_t network_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/net", &info) == 0 ? info.st_ino : 0;
}

std::string boot_id() {
  auto text = read_file("/proc/sys/kernel/random/boot_id", 4096);
  return text ? std::string(trim(*text)) : "";
}

bool network_namespace_lives(uint64_t inode) {
  std::error_code error;
  using Walk = std::filesystem::directory_iterator;
  for (Walk name("/run/netns", error), end; !error && name != end; name.increment(error)) {
    if (is_namespace(name->path(), inode)) return true;
  }
  error.clear();
  for (Walk process("/proc", error), end; !error && process != end; process.increment(error)) {
    if (!parse_int(process->path().filename().string())) continue;
    if (is_namespace(process->path() / "ns/net", inode)) return true;
  }
  return false;
}

}  // namespace culprit
