// SQLite handles that close themselves and report as Result. Thin on purpose: the store's SQL stays visible.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

// What SQLite's code means to the user: a full disk is ENOSPC, a damaged file an input error, a lock EBUSY.
Error sqlite_error(sqlite3* db, int code, std::string what);

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* stmt) : stmt_(stmt) {}

  sqlite3_stmt* get() const { return stmt_.get(); }
  Result<bool> step(const std::string& what);  // true: there is a row
  Status run(const std::string& what);         // steps to the end and resets
  void reset() { sqlite3_reset(stmt_.get()); }

  void bind(int index, int64_t value) { sqlite3_bind_int64(stmt_.get(), index, value); }
  void bind(int index, double value) { sqlite3_bind_double(stmt_.get(), index, value); }
  void bind(int index, std::string_view text);  // the text must live until the statement has run
  void bind_null(int index) { sqlite3_bind_null(stmt_.get(), index); }

  int type(int column) const { return sqlite3_column_type(stmt_.get(), column); }
  int64_t integer(int column) const { return sqlite3_column_int64(stmt_.get(), column); }
  double real(int column) const { return sqlite3_column_double(stmt_.get(), column); }
  std::string_view text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* stmt) const { sqlite3_finalize(stmt); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
};

class Database {
 public:
  Database() = default;
  explicit Database(sqlite3* db) : db_(db) {}

  // `location` is a path or, with SQLITE_OPEN_URI, a file: URI. One thread at a time may use the handle.
  static Result<Database> open(const std::string& location, int flags);

  sqlite3* get() const { return db_.get(); }
  bool is_open() const { return db_ != nullptr; }
  void close() { db_.reset(); }
  Status exec(const std::string& sql, const std::string& what);
  Result<Statement> prepare(const std::string& sql, const std::string& what);

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

// For a file that somebody else may have made: no triggers, no views, no functions from the schema, cells checked.
Status distrust_schema(Database& db);

std::string quote_identifier(std::string_view name);  // "name"
std::string quote_text(std::string_view text);        // 'text'
std::string file_uri(const std::string& path, std::string_view parameters);

}  // namespace culprit
