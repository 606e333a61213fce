// `sadf -j` of sysstat 10 to 12 -> ImportTable. docs/formats/sadf.md.
#pragma once

#include <map>
#include <string>

#include "store/import_table.h"

namespace culprit {

// One importer takes several files: one per server, or several days of one server.
class SadfImport {
 public:
  explicit SadfImport(ImportTable& table) : table_(table) {}

  // Streams; memory does not grow with the size of a line, a text or the nesting. A file that was cut off gives what
  // was whole and a note.
  Status add(const ReadFn& read, const std::string& name_for_errors);

  // The times of one host in one file. The same host may come again where the times do not overlap.
  struct Section {
    std::string file;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    bool utc = true;
    std::string timezone;
  };

 private:
  friend class SadfHandler;
  Status close_section(const std::string& host, const Section& section);

  ImportTable& table_;
  std::map<std::string, std::map<int64_t, Section>> sections_;  // by host, then by first time
};

}  // namespace culprit
