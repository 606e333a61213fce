#include "store/run_tables.h"

#include <algorithm>

#include "base/text.h"
#include "store/run_schema.h"

namespace culprit {

namespace {

std::string describe_column(std::string_view source, const Column& column) {
  return cat("INSERT INTO source_column VALUES(", quote_text(source), ",", quote_text(column.name), ",",
             column.kind == ColumnKind::counter ? "'counter'" : "'gauge'", ",", quote_text(column.help), ")");
}

bool same_columns(const std::vector<std::string>& names, std::span<const Column> columns) {
  return std::equal(names.begin(), names.end(), columns.begin(), columns.end(),
                    [](const std::string& name, const Column& column) { return name == column.name; });
}

Status check_names(const Source& source) {
  if (!is_source_name(source.name))
    return input_error(cat("\"", printable(source.name), "\" cannot be the name of a source"));
  if (source.columns.size() > kMaxColumns)
    return input_error(cat("source ", source.name, " has more than ", kMaxColumns, " columns"));
  for (size_t i = 0; i < source.columns.size(); ++i) {
    std::string_view name = source.columns[i].name;
    if (!is_column_name(name))
      return input_error(cat("\"", printable(name), "\" cannot be a column of source ", source.name));
    for (size_t j = 0; j < i; ++j)
      if (source.columns[j].name == name) return input_error(cat("source ", source.name, " has two columns ", name));
  }
  return Ok{};
}

}  // namespace

Result<RowPlan*> RunTables::plan(const Source& source, std::vector<std::string>& ddl) {
  Known& known = known_[&source];
  if (known.plan && known.columns == source.columns.data() && known.count == source.columns.size()) return known.plan;
  known.plan = nullptr;
  RETURN_IF_ERROR(check_names(source));
  ASSIGN_OR_RETURN(size_t table, find_or_make_table(source, ddl));
  for (RowPlan& plan : plans_)
    if (plan.table == table && same_columns(plan.columns, source.columns)) known.plan = &plan;
  if (!known.plan) {
    RowPlan& plan = plans_.emplace_back();
    plan.table = table;
    for (const Column& column : source.columns) plan.columns.emplace_back(column.name);
    known.plan = &plan;
  }
  known.columns = source.columns.data();
  known.count = source.columns.size();
  return known.plan;
}

Result<size_t> RunTables::find_or_make_table(const Source& source, std::vector<std::string>& ddl) {
  size_t index = 0;
  while (index < tables_.size() && tables_[index].name != source.name) ++index;
  if (index < tables_.size()) {
    RETURN_IF_ERROR(add_missing_columns(tables_[index], source, ddl));
    return index;
  }
  if (tables_.size() >= kMaxSources) return input_error(cat("a run can have at most ", kMaxSources, " sources"));
  Table& table = tables_.emplace_back();
  table.name = source.name;
  std::string sql = cat("CREATE TABLE ", quote_identifier(source.name), "(sample INTEGER, \"key\" INTEGER");
  for (const Column& column : source.columns) {
    sql += cat(", ", quote_identifier(column.name), " INTEGER");
    table.columns.emplace_back(column.name);
  }
  ddl.push_back(sql + ")");
  ddl.push_back(cat("INSERT INTO source VALUES(", quote_text(source.name), ",", quote_text(source.key), ",",
                    quote_text(source.help), ")"));
  for (const Column& column : source.columns) ddl.push_back(describe_column(source.name, column));
  return index;
}

Status RunTables::add_missing_columns(Table& table, const Source& source, std::vector<std::string>& ddl) {
  for (const Column& column : source.columns) {
    if (std::find(table.columns.begin(), table.columns.end(), column.name) != table.columns.end()) continue;
    if (table.columns.size() >= kMaxColumns)
      return input_error(cat("source ", table.name, " has more than ", kMaxColumns, " columns"));
    table.columns.emplace_back(column.name);
    ddl.push_back(
        cat("ALTER TABLE ", quote_identifier(table.name), " ADD COLUMN ", quote_identifier(column.name), " INTEGER"));
    ddl.push_back(describe_column(table.name, column));
  }
  return Ok{};
}

Status RunTables::prepare(Database& db, RowPlan& plan) const {
  if (plan.insert.get()) return Ok{};
  const std::string& name = table_name(plan.table);
  std::string sql = cat("INSERT INTO ", quote_identifier(name), "(sample,\"key\"");
  std::string places = "?,?";
  for (const std::string& column : plan.columns) {
    sql += cat(",", quote_identifier(column));
    places += ",?";
  }
  ASSIGN_OR_RETURN(plan.insert, db.prepare(cat(sql, ") VALUES(", places, ")"), cat("cannot write table ", name)));
  return Ok{};
}

void RunTables::close() {
  for (RowPlan& plan : plans_) plan.insert = Statement();
}

}  // namespace culprit
