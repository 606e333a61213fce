// The kernel side as an object: loaded with its settings, attached, detached. Links are descriptors of this process, so
// the kernel takes the probes away by itself when we die, however we die.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "capture/backend.h"
#include "capture/ebpf/syscap_abi.h"

namespace culprit {

struct ProbeOptions {
  CallSet calls;
  uint32_t nodes = 1;
  bool sums = false;
  bool has_homes = false;
  size_t buffer_bytes = 64 << 20;  // rounded up to a power of two
};

class Probes {
 public:
  static Result<Probes> load(const ProbeOptions& options);
  Probes(Probes&&) noexcept;
  Probes& operator=(Probes&&) noexcept;
  ~Probes();

  Status attach();
  void detach();
  // After detach(): the calls that are still under way go into the ring as unfinished ones.
  Status visit_rest();

  int map(const char* name) const;  // its descriptor; a name that does not exist is a bug
  syscap_shared& shared();          // the kernel writes it too: only with atomic operations
  bool follows_uring() const;

  // Gets every record; a negative number stops consume() after it.
  using Taker = int (*)(void* context, void* data, size_t size);
  Status open_ring(Taker fn, void* context);
  void consume();  // what is in the ring

 private:
  struct State;
  explicit Probes(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The least power of two that holds `bytes` and that the kernel accepts as a ring's size.
size_t ring_bytes(size_t bytes);

}  // namespace culprit
