// Writes a run directory: NAME.run.partial while it is open, NAME.run once it is closed. docs/formats/run.md.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/run.h"
#include "model/sample.h"
#include "store/run_schema.h"

namespace culprit {

class RunWriter {
 public:
  // `path` is NAME or NAME.run. Refuses when either form exists, and when another recorder is writing it.
  // More than `max_keys` devices, sockets and daemons are not kept: rows of later ones are left out, with a note.
  static Result<RunWriter> create(const std::string& path, Manifest manifest, size_t max_keys = kMaxKeys);
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();  // leaves the run partial unless it was closed

  // Nodes are those of manifest.cluster.nodes, by index. A node that was restarted numbers its keys anew: reset_keys.
  // What is added waits in memory until commit() (or until it is much), so that the database is locked only for
  // moments.
  Status add(size_t node, const Sample& sample);
  void reset_keys(size_t node);
  // Imported values: rates and averages that another tool derived. `device` may be "".
  Status add_value(size_t node, int64_t t_ns, std::string_view device, std::string_view metric, double value);
  Status add_event(const Event& event);
  // What is added survives a kill -9 from here on. A full disk is ENOSPC: nothing can be added any more but events, and
  // close() still works, because space for it was set aside.
  Status commit();

  void make_room();  // gives back the space set aside for close(), for somebody who has to end a file of this run

  Manifest& manifest();             // nodes may be appended to its cluster at any time
  Status save_manifest();           // also a run that stays partial then has it as it is now
  int64_t size_bytes() const;       // of the directory, journal included, without the space set aside
  const std::string& path() const;  // the directory as it is named now
  Result<std::string> close();      // commits, checks, writes the manifest and renames; returns the final path
  void discard();  // removes what was written; only for a run that was not closed. Nothing may be called after it

 private:
  struct State;
  explicit RunWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Puts an event into a run that another process is writing (or that was left partial).
Status append_event(const std::string& run_path, const Event& event);

}  // namespace culprit
