// With it everything around a capture is tested without root, without ptrace, and with events that no kernel makes.
// As a member of the table it sees nothing and goes on until asked.
#include <algorithm>
#include <ctime>
#include <utility>

#include "base/units.h"
#include "capture/null_backend.h"

namespace culprit {

namespace {

class NullBackend : public Backend {
 public:
  explicit NullBackend(NullScript script) : script_(std::move(script)) {}

  Status start(const CaptureOptions&) override { return Ok{}; }

  Result<bool> turn(CaptureSink& sink, int64_t wait_ns) override {
    size_t end = script_.events.size() - std::min(script_.at_stop, script_.events.size());
    play(sink, std::min(end, next_ + script_.per_turn));
    if (next_ < end) return true;
    if (script_.ends) return false;
    timespec pause{static_cast<time_t>(wait_ns / kNsPerSecond), wait_ns % kNsPerSecond};
    ::nanosleep(&pause, nullptr);
    return true;
  }

  Result<CaptureReport> stop(CaptureSink& sink) override {
    play(sink, script_.events.size());
    return script_.report;
  }

  size_t processes_alive() const override { return 0; }

 private:
  void play(CaptureSink& sink, size_t end) {
    for (; next_ < end; ++next_) {
      const ScriptedEvent& scripted = script_.events[next_];
      if (auto* call = std::get_if<Call>(&scripted.event)) sink.on_call(scripted.node, *call);
      if (auto* record = std::get_if<FdRecord>(&scripted.event)) sink.on_fd(scripted.node, *record);
    }
  }

  NullScript script_;
  size_t next_ = 0;
};

Status check() {
  return Ok{};
}

std::unique_ptr<Backend> make() {
  NullScript nothing;
  nothing.ends = false;
  return make_null_backend(std::move(nothing));
}

}  // namespace

std::unique_ptr<Backend> make_null_backend(NullScript script) {
  return std::make_unique<NullBackend>(std::move(script));
}

std::unique_ptr<Backend> make_null_backend(std::vector<ScriptedEvent> events) {
  NullScript script;
  script.events = std::move(events);
  return make_null_backend(std::move(script));
}

extern const BackendInfo backend_null;
const BackendInfo backend_null = {
    .name = "null",
    .summary = "sees nothing: to test culprit itself",
    .check = check,
    .make = make,
};

}  // namespace culprit
