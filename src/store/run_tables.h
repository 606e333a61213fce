// Which table and which insert statement a node's row goes to. A node may be older or newer than we are: its sources
// come with their own columns, so tables are made and widened as rows arrive.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/source.h"
#include "store/sqlite.h"

namespace culprit {

// One way to fill a table: the columns one version of a source has.
struct RowPlan {
  size_t table = 0;
  std::vector<std::string> columns;
  Statement insert;  // prepared when first used
};

class RunTables {
 public:
  // The plan for rows of `source`, remembered by address until forget(). SQL that must run first is appended to `ddl`.
  Result<RowPlan*> plan(const Source& source, std::vector<std::string>& ddl);
  void forget() { known_.clear(); }  // sources may have been freed and their addresses used again
  const std::string& table_name(size_t table) const { return tables_[table].name; }
  Status prepare(Database& db, RowPlan& plan) const;
  void close();  // finalizes the statements

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
  };
  struct Known {
    const Column* columns = nullptr;
    size_t count = 0;
    RowPlan* plan = nullptr;
  };
  Result<size_t> find_or_make_table(const Source& source, std::vector<std::string>& ddl);
  Status add_missing_columns(Table& table, const Source& source, std::vector<std::string>& ddl);

  std::deque<Table> tables_;
  std::deque<RowPlan> plans_;
  std::unordered_map<const Source*, Known> known_;
};

}  // namespace culprit
