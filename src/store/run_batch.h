// What a writer has taken but not yet committed, and how it goes into the database in one transaction.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/run.h"
#include "store/run_tables.h"
#include "store/sqlite.h"

namespace culprit {

class RunBatch {
 public:
  struct NewNode {
    int64_t id;
    std::string name, address;
    NodeKind kind;
  };
  struct Sample {
    int64_t id, node, t_ns;
    int64_t mono_ns;  // negative: unknown
    int64_t cost_ns, skipped;
  };
  struct Key {
    int64_t id, node;
    std::string source, name, detail;
  };
  struct Row {
    RowPlan* plan;
    int64_t sample;
    uint32_t key;
    size_t first;  // index of its first cell
  };
  struct Value {
    int64_t sample;
    uint32_t key, metric;
    double value;
  };

  std::vector<NewNode> nodes;
  std::vector<std::string> ddl;  // SQL that makes and widens the sources' tables
  std::vector<Sample> samples;
  std::vector<Key> keys;
  std::vector<Row> rows;
  std::vector<int64_t> cells;
  std::vector<Value> values;
  std::vector<Event> events;
  std::vector<std::pair<int64_t, std::string>> metrics;

  bool empty() const;
  void clear();  // keeps the memory

  Status prepare(Database& db);
  void close();  // finalizes the statements
  // One transaction; after an error nothing of it is in the database and the batch is as it was.
  Status write(Database& db, const RunTables& tables, const std::string& file);

 private:
  Status write_all(Database& db, const RunTables& tables);
  Status write_nodes();
  Status write_keys();
  Status write_samples();
  Status write_rows(Database& db, const RunTables& tables);
  Status write_values();
  Status write_events();

  Statement insert_node_, insert_sample_, insert_key_, insert_value_, insert_metric_, insert_event_;
  std::string what_;
};

}  // namespace culprit
