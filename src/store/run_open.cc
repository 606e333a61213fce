// Opening a run from its folder, and putting an event into one that is being written. A closed run is verified by its
// checksum and read without locks; a partial one is read through its journal, which needs shared memory beside it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "store/manifest.h"
#include "store/run_path.h"
#include "store/run_reader.h"
#include "store/run_reader_state.h"
#include "store/run_schema.h"
#include "store/run_writer.h"
#include "store/sqlite.h"

namespace culprit {

namespace {

namespace fs = std::filesystem;

constexpr int kMarkBusyMs = 2000;                        // a recorder's commit takes milliseconds
constexpr int kReadBusyMs = 5000;                        // recovery of a journal by another reader
constexpr uintmax_t kMaxCopyBytes = uintmax_t{4} << 30;  // of a partial run in a folder that cannot be written

Result<Database> open_closed(const std::string& file, const Manifest& manifest) {
  ASSIGN_OR_RETURN(std::string checksum, file_checksum(file));
  if (checksum != manifest.checksum)
    return input_error(cat(file, " is damaged: its checksum is not the one in the manifest"),
                       "take the run from where it was copied from");
  return Database::open(file_uri(file, "immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

// A folder in the temporary directory that goes away with the object.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "culprit-XXXXXX").string();
    if (!error && ::mkdtemp(name.data())) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Database> open_readable(const std::string& file) {
  ASSIGN_OR_RETURN(Database db, Database::open(file, SQLITE_OPEN_READONLY));
  sqlite3_busy_timeout(db.get(), kReadBusyMs);
  RETURN_IF_ERROR(distrust_schema(db));
  // Only the first look at a table opens the journal and shows whether it can be.
  RETURN_IF_ERROR(db.exec("SELECT count(*) FROM sqlite_master", cat("cannot read ", file)));
  return db;
}

// The journal cannot be used where it lies, and without it the database may be torn: work on a copy of both.
Result<Database> open_copy(const std::string& file) {
  Scratch scratch;
  std::string copy = cat(scratch.path(), "/", kDatabaseFile);
  std::string what = cat("cannot copy ", file, " to a folder that can be written");
  if (scratch.path().empty()) return system_error(what, errno);
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    if (*suffix && !fs::exists(cat(file, suffix), error)) continue;
    uintmax_t size = fs::file_size(cat(file, suffix), error);
    if (!error && size > kMaxCopyBytes)
      return input_error(cat(file, " is partial, cannot be written and is too large to copy"),
                         "copy the run to a folder that can be written");
    if (!error) fs::copy_file(cat(file, suffix), cat(copy, suffix), error);
    if (error) return system_error(what, error.value(), "set TMPDIR to a folder with room");
  }
  return open_readable(copy);  // its files are open by now and may lose their names
}

Result<Database> open_partial(const std::string& file, Manifest& manifest) {
  Result<Database> db = open_readable(file);
  if (db || db.error().kind != ErrorKind::system || !path_exists(file)) return db;
  int error = db.error().errno_value;
  if (error == EBUSY || error == ENOMEM) return db;
  ASSIGN_OR_RETURN(Database copy, open_copy(file));
  manifest.notes.push_back("the run is partial in a folder that cannot be written: a copy of it was read");
  return copy;
}

Result<RunReader> open_directory(const std::string& directory) {
  ASSIGN_OR_RETURN(Manifest manifest, read_manifest(directory));
  std::string file = cat(directory, "/", kDatabaseFile);
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return system_error(cat("cannot read ", file), errno, "the run is damaged");
  if (!S_ISREG(info.st_mode)) return input_error(cat(file, " is not a file"), "the run is damaged");
  ASSIGN_OR_RETURN(Database db, manifest.complete ? open_closed(file, manifest) : open_partial(file, manifest));
  return RunReader::from_database(std::move(db), std::move(manifest), directory);
}

}  // namespace

Result<RunReader> RunReader::open(const std::string& path) {
  ASSIGN_OR_RETURN(std::string directory, find_run(path));
  Result<RunReader> reader = open_directory(directory);
  if (reader || path_exists(directory)) return reader;
  ASSIGN_OR_RETURN(directory, find_run(path));  // its recorder has just renamed it
  return open_directory(directory);
}

Status append_event(const std::string& run_path, const Event& event) {
  ASSIGN_OR_RETURN(std::string directory, find_run(run_path));
  ASSIGN_OR_RETURN(Manifest manifest, read_manifest(directory));
  if (manifest.complete)
    return input_error(cat(directory, " is closed; nothing can be added to it"),
                       "marks go into a run that is being recorded");
  std::string what = cat("cannot write into ", directory);
  ASSIGN_OR_RETURN(Database db, Database::open(cat(directory, "/", kDatabaseFile), SQLITE_OPEN_READWRITE));
  sqlite3_busy_timeout(db.get(), kMarkBusyMs);
  // The recorder checkpoints; a mark must not take its time for that, nor close the journal of a dead one.
  sqlite3_wal_autocheckpoint(db.get(), 0);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  RETURN_IF_ERROR(distrust_schema(db));
  ASSIGN_OR_RETURN(Statement insert, db.prepare(kInsertUnlessClosing, what));
  insert.bind(1, std::clamp<int64_t>(event.t_ns, 0, kMaxTimeNs));
  insert.bind(2, std::string_view(event.node).substr(0, kMaxTextBytes));
  insert.bind(3, std::string_view(event.kind).substr(0, kMaxTextBytes));
  insert.bind(4, std::string_view(event.text).substr(0, kMaxTextBytes));
  RETURN_IF_ERROR(insert.run(what));
  if (sqlite3_changes(db.get()) > 0) return Ok{};
  return input_error(cat(directory, " is being closed; nothing can be added to it any more"),
                     "marks go into a run that is being recorded");
}

}  // namespace culprit
