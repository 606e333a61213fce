// Writes a run directory: NAME.run.partial while it is open, NAME.run once it is closed. docs/formats/run.md.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/run.h"
#include "model/sample.h"

namespace culprit {

class RunWriter {
 public:
  // `path` is NAME or NAME.run. Refuses when either form exists, and when another recorder is writing it.
  static Result<RunWriter> create(const std::string& path, Manifest manifest);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();  // leaves the run partial unless it was closed

  // Nodes are those of manifest.cluster.nodes, by index. A node that was restarted numbers its keys anew: reset_keys.
  Status add(size_t node, const Sample& sample);
  void reset_keys(size_t node);
  // Imported values: rates and averages that another tool derived. `device` may be "".
  Status add_value(size_t node, int64_t t_ns, std::string_view device, std::string_view metric, double value);
  Status add_event(const Event& event);
  Status commit();  // what is added survives a kill -9 from here on

  Manifest& manifest();
  int64_t size_bytes() const;  // of the directory, journal included
  const std::string& path() const;  // the directory as it is named now
  Result<std::string> close();  // commits, checks, writes the manifest and renames; returns the final path

 private:
  struct State;
  explicit RunWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Puts an event into a run that another process is writing (or that was left partial).
Status append_event(const std::string& run_path, const Event& event);

}  // namespace culprit
