#include "store/sqlite.h"

#include <cerrno>

#include "base/text.h"

namespace culprit {

namespace {

constexpr int kMaxTextBytes = 4 << 20;  // no text of a run is longer; a damaged length must not allocate gigabytes

bool is_full(int code, int system_errno) {
  return code == SQLITE_FULL || (code == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT));
}

}  // namespace

Error sqlite_error(sqlite3* db, int code, std::string what) {
  code &= 0xff;
  int system_errno = db ? sqlite3_system_errno(db) : 0;
  if (is_full(code, system_errno)) return system_error(std::move(what), ENOSPC, "make room on the disk");
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return system_error(std::move(what), EBUSY, "another process holds the database; try again");
    case SQLITE_NOMEM:
      return system_error(std::move(what), ENOMEM);
    case SQLITE_READONLY:
      return system_error(std::move(what), system_errno ? system_errno : EROFS);
    case SQLITE_PERM:
      return system_error(std::move(what), EACCES);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return system_error(std::move(what), system_errno ? system_errno : EIO);
    default:
      break;
  }
  std::string reason = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  return input_error(cat(what, ": ", printable(reason, 200)), "the run is damaged or was not written by culprit");
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL; an empty text is not an absent one.
  const char* bytes = text.data() ? text.data() : "";
  sqlite3_bind_text(stmt_.get(), index, bytes, static_cast<int>(text.size()), SQLITE_STATIC);
}

std::string_view Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(stmt_.get(), column);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(stmt_.get(), column))};
}

Result<bool> Statement::step(const std::string& what) {
  int code = sqlite3_step(stmt_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(sqlite3_db_handle(stmt_.get()), code, what);
}

Status Statement::run(const std::string& what) {
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(stmt_.get());
  if (code != SQLITE_DONE) {
    Error error = sqlite_error(sqlite3_db_handle(stmt_.get()), code, what);
    reset();
    return error;
  }
  reset();
  return Ok{};
}

Result<Database> Database::open(const std::string& location, int flags) {
  sqlite3* raw = nullptr;
  int code = sqlite3_open_v2(location.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);  // also a failed open gives a handle
  if (code != SQLITE_OK) return sqlite_error(raw, code, cat("cannot open ", location));
  return db;
}

Status Database::exec(const std::string& sql, const std::string& what) {
  int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(db_.get(), code, what);
  return Ok{};
}

Result<Statement> Database::prepare(const std::string& sql, const std::string& what) {
  sqlite3_stmt* stmt = nullptr;
  int code = sqlite3_prepare_v3(db_.get(), sql.c_str(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &stmt,
                                nullptr);
  if (code != SQLITE_OK) return sqlite_error(db_.get(), code, what);
  return Statement(stmt);
}

Status distrust_schema(Database& db) {
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, kMaxTextBytes);
  sqlite3_limit(db.get(), SQLITE_LIMIT_ATTACHED, 0);
  return db.exec("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY", "cannot open the database");
}

std::string quote_identifier(std::string_view name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"') out += c;
    out += c;
  }
  return out + '"';
}

std::string quote_text(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\0') continue;  // would end the SQL text
    if (c == '\'') out += c;
    out += c;
  }
  return out + '\'';
}

std::string file_uri(const std::string& path, std::string_view parameters) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "file:";
  // A path that begins with two slashes would be read as an authority.
  if (path.starts_with("//")) out += "//";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      unsigned char byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return cat(out, "?", parameters);
}

}  // namespace culprit
