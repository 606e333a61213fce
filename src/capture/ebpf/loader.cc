// No skeleton made by bpftool: the few maps and programs are found by name, and the build needs one tool less.
#include "capture/ebpf/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/fd.h"
#include "base/text.h"
#include "capture/ebpf/call_config.h"
#include "capture/ebpf/kernel_check.h"

// The object that clang made of syscap.bpf.c; in a file that the build makes.
extern "C" const unsigned char culprit_syscap_object[];
extern "C" const unsigned char culprit_syscap_object_end[];

namespace culprit {

namespace {

constexpr size_t kMostWarnings = 4096;                                   // bytes of libbpf's complaints that are kept
constexpr size_t kLeastRing = size_t{1} << 16;                           // a few descriptions must fit
constexpr size_t kMostRing = size_t{1} << 30;                            // the size has 32 bits
constexpr const char* kRest = "on_rest";                                 // the only program that is read, not attached
constexpr std::array kSumMaps = {"devices", "ports", "sums", "errors"};  // not needed without sums

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};
using Object = std::unique_ptr<bpf_object, CloseObject>;
using Link = std::unique_ptr<bpf_link, DestroyLink>;

// libbpf talks to stderr unless somebody listens. What it warns of becomes part of our own error.
thread_local std::string warnings;

__attribute__((format(printf, 2, 0))) int remember(libbpf_print_level level, const char* format, va_list arguments) {
  char line[1024];
  int n = level == LIBBPF_WARN ? std::vsnprintf(line, sizeof line, format, arguments) : 0;
  if (n > 0 && warnings.size() < kMostWarnings) warnings += line;
  return n;
}

std::string first_warning() {
  std::string_view line = std::string_view(warnings).substr(0, warnings.find('\n'));
  return line.empty() ? "" : cat(" (", printable(line, 300), ")");
}

Error load_error(const char* what, int error) {
  return system_error(
      cat(what, first_warning()), error,
      error == EPERM || error == EACCES ? "run as root, or use --backend ptrace" : "use --backend ptrace");
}

Result<Object> open_object() {
  warnings.clear();
  libbpf_set_print(remember);
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = "syscap";
  auto bytes = static_cast<size_t>(culprit_syscap_object_end - culprit_syscap_object);
  Object object(bpf_object__open_mem(culprit_syscap_object, bytes, &options));
  if (!object) return load_error("cannot read the probes of syscap", errno);
  return object;
}

bpf_map* find_map(bpf_object* object, const char* name) {
  bpf_map* found = bpf_object__find_map_by_name(object, name);
  CHECK(found) << name;
  return found;
}

bpf_program* find_program(bpf_object* object, const char* name) {
  bpf_program* found = bpf_object__find_program_by_name(object, name);
  CHECK(found) << name;
  return found;
}

// Settings are written before the kernel freezes them: it then leaves out what they switch off.
void set_config(bpf_object* object, const ProbeOptions& options, const Tracepoints& points) {
  syscap_config config{};
  fill_call_config(options.calls, config);
  config.sums = options.sums;
  config.has_homes = options.has_homes;
  config.exit_tells_last = points.process_exit >= 2;
  config.sqe_has_context = points.uring_submit_sqe > 2;
  int failed = bpf_map__set_initial_value(find_map(object, ".rodata.config"), &config, sizeof config);
  CHECK(failed == 0) << failed;
}

// Whether completions can be seen: both a way in and a way out are needed.
bool choose_uring(bpf_object* object, const Tracepoints& points) {
  const char* submit = points.uring_submit_req == 1  ? "on_uring_req"
                       : points.uring_submit_sqe > 0 ? "on_uring_sqe"
                                                     : nullptr;
  const char* complete = points.uring_complete == 3   ? "on_uring_complete"
                         : points.uring_complete >= 5 ? "on_uring_complete_old"
                                                      : nullptr;
  if (!submit || !complete) return false;
  bpf_program__set_autoload(find_program(object, submit), true);
  bpf_program__set_autoload(find_program(object, complete), true);
  return true;
}

void size_maps(bpf_object* object, const ProbeOptions& options) {
  bpf_map__set_max_entries(find_map(object, "ring"), static_cast<uint32_t>(ring_bytes(options.buffer_bytes)));
  bpf_map__set_max_entries(find_map(object, "unseen"), options.nodes);
  bpf_map__set_max_entries(find_map(object, "ports"), options.nodes);
  if (options.sums) return;
  for (const char* name : kSumMaps) bpf_map__set_max_entries(find_map(object, name), 1);
}

}  // namespace

struct Probes::State {
  Object object;
  std::vector<Link> links;
  std::unique_ptr<ring_buffer, FreeRing> ring;
  syscap_shared* shared = nullptr;
  size_t shared_bytes = 0;
  bool uring = false;

  ~State() {
    if (shared) ::munmap(shared, shared_bytes);
  }

  Status map_shared() {
    bpf_map* map = find_map(object.get(), ".bss");
    CHECK(bpf_map__value_size(map) >= sizeof(syscap_shared));
    auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    shared_bytes = (bpf_map__value_size(map) + page - 1) / page * page;
    void* memory = ::mmap(nullptr, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (memory == MAP_FAILED) return system_error("cannot share memory with the probes", errno);
    shared = static_cast<syscap_shared*>(memory);
    return Ok{};
  }
};

Probes::Probes(std::unique_ptr<State> state) : state_(std::move(state)) {}
Probes::Probes(Probes&&) noexcept = default;
Probes& Probes::operator=(Probes&&) noexcept = default;
Probes::~Probes() = default;

size_t ring_bytes(size_t bytes) {
  return std::bit_ceil(std::clamp(bytes, kLeastRing, kMostRing));
}

Result<Probes> Probes::load(const ProbeOptions& options) {
  ASSIGN_OR_RETURN(Tracepoints points, look_at_tracepoints());
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->object, open_object());
  set_config(state->object.get(), options, points);
  size_maps(state->object.get(), options);
  state->uring = choose_uring(state->object.get(), points);
  int failed = bpf_object__load(state->object.get());
  if (failed != 0) return load_error("cannot load the probes of syscap", -failed);
  RETURN_IF_ERROR(state->map_shared());
  return Probes(std::move(state));
}

Status Probes::attach() {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(state_->object.get(), program)) != nullptr) {
    if (!bpf_program__autoload(program) || std::strcmp(bpf_program__name(program), kRest) == 0) continue;
    Link link(bpf_program__attach(program));
    if (!link) return load_error("cannot attach the syscall probes", errno);
    state_->links.push_back(std::move(link));
  }
  return Ok{};
}

void Probes::detach() {
  state_->links.clear();
}

Status Probes::visit_rest() {
  Link link(bpf_program__attach_iter(find_program(state_->object.get(), kRest), nullptr));
  if (!link) return system_error("cannot look for unfinished calls", errno);
  Fd walk(bpf_iter_create(bpf_link__fd(link.get())));
  if (!walk.valid()) return system_error("cannot look for unfinished calls", errno);
  char nothing[64];  // the program prints nothing: it is read for what it does
  ssize_t n = 0;
  while ((n = ::read(walk.get(), nothing, sizeof nothing)) > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) {
  }
  return Ok{};
}

int Probes::map(const char* name) const {
  return bpf_map__fd(find_map(state_->object.get(), name));
}

syscap_shared& Probes::shared() {
  return *state_->shared;
}

bool Probes::follows_uring() const {
  return state_->uring;
}

Status Probes::open_ring(Taker fn, void* context) {
  state_->ring.reset(ring_buffer__new(map("ring"), fn, context, nullptr));
  if (!state_->ring) return system_error("cannot open the probes' ring buffer", errno);
  return Ok{};
}

void Probes::consume() {
  ring_buffer__consume(state_->ring.get());
}

}  // namespace culprit
