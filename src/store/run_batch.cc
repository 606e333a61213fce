#include "store/run_batch.h"

namespace culprit {

namespace {

std::string_view kind_name(NodeKind kind) {
  return kind == NodeKind::server ? "server" : kind == NodeKind::client ? "client" : "other";
}

}  // namespace

bool RunBatch::empty() const {
  return nodes.empty() && ddl.empty() && samples.empty() && keys.empty() && rows.empty() && values.empty() &&
         events.empty() && metrics.empty();
}

void RunBatch::clear() {
  nodes.clear();
  ddl.clear();
  samples.clear();
  keys.clear();
  rows.clear();
  cells.clear();
  values.clear();
  events.clear();
  metrics.clear();
}

Status RunBatch::prepare(Database& db) {
  struct Insert {
    Statement* statement;
    const char* sql;
  };
  const Insert inserts[] = {
      {&insert_node_, "INSERT INTO node VALUES(?,?,?,?)"},
      {&insert_sample_, "INSERT INTO sample VALUES(?,?,?,?,?,?)"},
      {&insert_key_, "INSERT INTO \"key\" VALUES(?,?,?,?,?)"},
      {&insert_value_, "INSERT INTO value VALUES(?,?,?,?)"},
      {&insert_metric_, "INSERT INTO metric VALUES(?,?)"},
      {&insert_event_, "INSERT INTO event VALUES(?,?,?,?)"},
  };
  for (const Insert& insert : inserts) {
    ASSIGN_OR_RETURN(*insert.statement, db.prepare(insert.sql, "cannot write the run's tables"));
  }
  return Ok{};
}

void RunBatch::close() {
  for (Statement* statement :
       {&insert_node_, &insert_sample_, &insert_key_, &insert_value_, &insert_metric_, &insert_event_})
    *statement = Statement();
}

Status RunBatch::write(Database& db, const RunTables& tables, const std::string& file) {
  what_ = "cannot write " + file;
  RETURN_IF_ERROR(db.exec("BEGIN IMMEDIATE", what_));
  Status written = write_all(db, tables);
  if (written) written = db.exec("COMMIT", what_);
  if (!written) sqlite3_exec(db.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return written;
}

Status RunBatch::write_all(Database& db, const RunTables& tables) {
  for (const std::string& sql : ddl) RETURN_IF_ERROR(db.exec(sql, what_));
  RETURN_IF_ERROR(write_nodes());
  RETURN_IF_ERROR(write_keys());
  RETURN_IF_ERROR(write_samples());
  RETURN_IF_ERROR(write_rows(db, tables));
  RETURN_IF_ERROR(write_values());
  return write_events();
}

Status RunBatch::write_nodes() {
  for (const NewNode& node : nodes) {
    insert_node_.bind(1, node.id);
    insert_node_.bind(2, node.name);
    insert_node_.bind(3, kind_name(node.kind));
    insert_node_.bind(4, node.address);
    RETURN_IF_ERROR(insert_node_.run(what_));
  }
  return Ok{};
}

Status RunBatch::write_keys() {
  for (const Key& key : keys) {
    insert_key_.bind(1, key.id);
    insert_key_.bind(2, key.node);
    insert_key_.bind(3, key.source);
    insert_key_.bind(4, key.name);
    insert_key_.bind(5, key.detail);
    RETURN_IF_ERROR(insert_key_.run(what_));
  }
  return Ok{};
}

Status RunBatch::write_samples() {
  for (const Sample& sample : samples) {
    insert_sample_.bind(1, sample.id);
    insert_sample_.bind(2, sample.node);
    insert_sample_.bind(3, sample.t_ns);
    if (sample.mono_ns < 0) {
      insert_sample_.bind_null(4);
    } else {
      insert_sample_.bind(4, sample.mono_ns);
    }
    insert_sample_.bind(5, sample.cost_ns);
    insert_sample_.bind(6, sample.skipped);
    RETURN_IF_ERROR(insert_sample_.run(what_));
  }
  return Ok{};
}

Status RunBatch::write_rows(Database& db, const RunTables& tables) {
  for (const Row& row : rows) {
    RETURN_IF_ERROR(tables.prepare(db, *row.plan));
    Statement& insert = row.plan->insert;
    insert.bind(1, row.sample);
    insert.bind(2, static_cast<int64_t>(row.key));
    for (size_t i = 0; i < row.plan->columns.size(); ++i) {
      int64_t value = cells[row.first + i];
      int place = static_cast<int>(i) + 3;
      if (value == kAbsent) {
        insert.bind_null(place);
      } else {
        insert.bind(place, value);
      }
    }
    RETURN_IF_ERROR(insert.run(what_));
  }
  return Ok{};
}

Status RunBatch::write_values() {
  for (const auto& [id, name] : metrics) {
    insert_metric_.bind(1, id);
    insert_metric_.bind(2, name);
    RETURN_IF_ERROR(insert_metric_.run(what_));
  }
  for (const Value& value : values) {
    insert_value_.bind(1, value.sample);
    insert_value_.bind(2, static_cast<int64_t>(value.key));
    insert_value_.bind(3, static_cast<int64_t>(value.metric));
    insert_value_.bind(4, value.value);
    RETURN_IF_ERROR(insert_value_.run(what_));
  }
  return Ok{};
}

Status RunBatch::write_events() {
  for (const Event& event : events) {
    insert_event_.bind(1, event.t_ns);
    insert_event_.bind(2, event.node);
    insert_event_.bind(3, event.kind);
    insert_event_.bind(4, event.text);
    RETURN_IF_ERROR(insert_event_.run(what_));
  }
  return Ok{};
}

}  // namespace culprit
