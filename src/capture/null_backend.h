// A capture that needs no processes: it plays events that a test has written down.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "calls/call.h"
#include "capture/backend.h"

namespace culprit {

struct ScriptedEvent {
  size_t node = 0;
  std::variant<Call, FdRecord> event;
};

struct NullScript {
  std::vector<ScriptedEvent> events;
  size_t per_turn = 1000;     // how many a turn hands over
  bool ends = true;           // after the last event, as when every target has ended; false: it goes on until asked
  size_t at_stop = 0;         // as many of the last events come only in stop()
  CaptureReport report = {};  // what stop() gives back
};

std::unique_ptr<Backend> make_null_backend(NullScript script);
std::unique_ptr<Backend> make_null_backend(std::vector<ScriptedEvent> events);

}  // namespace culprit
