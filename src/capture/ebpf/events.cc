#include "capture/ebpf/events.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "capture/proc_fd.h"

namespace culprit {

namespace {

static_assert(sizeof(syscap_call) == 96);
static_assert(offsetof(syscap_fd, text) == 100);
static_assert(sizeof(syscap_request) == 56);
static_assert(kSyscapCall == static_cast<int>(CallKind::call) && kSyscapUring == static_cast<int>(CallKind::uring));
static_assert(kSyscapCalls == kMostSyscalls);

// Internal file systems (s_magic): what lies there has no path.
constexpr uint32_t kSockfs = 0x534f434b;
constexpr uint32_t kPipefs = 0x50495045;
constexpr uint32_t kAnonymous = 0x09041934;
constexpr uint32_t kPidfs = 0x50494446;
constexpr uint32_t kNsfs = 0x6e736673;

std::string address_text(int family, const __u8* bytes, uint16_t port) {
  sockaddr_storage address{};
  if (family == AF_INET) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, bytes, sizeof v4->sin_addr);
    return endpoint_text(address, sizeof *v4);
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  std::memcpy(&v6->sin6_addr, bytes, sizeof v6->sin6_addr);
  return endpoint_text(address, sizeof *v6);
}

std::string first_string(std::string_view text) {
  return std::string(text.substr(0, text.find('\0')));
}

void fill_socket(const syscap_fd& record, std::string_view text, FdRecord& out) {
  out.protocol = protocol_name(record.family, record.protocol);
  if (record.family == AF_UNIX && !text.empty())
    out.name = text.front() == 0 ? cat("@", text.substr(1)) : first_string(text);
  if (record.family == AF_INET || record.family == AF_INET6) {
    out.local = address_text(record.family, record.local, record.local_port);
    if (record.peer_port != 0) out.peer = address_text(record.family, record.peer, record.peer_port);
  }
  if (out.name.empty() && out.local.empty() && out.peer.empty()) out.name = cat("socket:[", out.inode, "]");
}

FdKind kind_of(const syscap_fd& record) {
  if (record.magic == kSockfs) return FdKind::socket;
  if (record.magic == kPipefs) return FdKind::pipe;
  if (record.magic == kAnonymous || record.magic == kPidfs) return FdKind::anonymous;
  if (S_ISDIR(record.mode)) return FdKind::folder;
  if (S_ISFIFO(record.mode)) return FdKind::pipe;
  if (S_ISCHR(record.mode) || S_ISBLK(record.mode)) return FdKind::device;
  return FdKind::file;
}

// As /proc/PID/fd shows it.
std::string name_of_file(const syscap_fd& record, std::string_view text) {
  if (record.magic == kPipefs) return cat("pipe:[", uint64_t{record.inode}, "]");
  if (record.magic == kAnonymous) return cat("anon_inode:", first_string(text));
  if (record.magic == kPidfs) return "anon_inode:[pidfd]";
  if (record.magic == kNsfs) return cat("ns:[", uint64_t{record.inode}, "]");
  if (record.marks & kSyscapPseudo) return cat("/", first_string(text), " (deleted)");  // memfd and its like
  return path_of_components(text, record.marks);
}

// Which arguments a call has; the other registers hold what was left there.
using ArgumentMasks = std::array<uint8_t, kMostSyscalls>;

ArgumentMasks make_masks() {
  ArgumentMasks masks;
  for (size_t i = 0; i < masks.size(); ++i) {
    int number = static_cast<int>(i);
    int vector_bytes = vector_bytes_argument(number);
    unsigned mask = (1U << argument_count(number)) - 1;
    if (vector_bytes >= 0) mask |= 1U << vector_bytes;
    masks[i] = static_cast<uint8_t>(mask);
  }
  return masks;
}

unsigned argument_mask(const syscap_call& record) {
  static const ArgumentMasks masks = make_masks();
  bool known = record.type == kSyscapCall && record.number >= 0 && record.number < kMostSyscalls;
  return known ? masks[static_cast<size_t>(record.number)] : 0x3f;
}

bool deliver_call(std::string_view bytes, EventContext& context, CaptureSink& sink) {
  syscap_call record;
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.node >= context.nodes) return false;
  sink.on_call(record.node, make_call(record, context.wall_offset_ns));
  return true;
}

bool deliver_fd(std::string_view bytes, EventContext& context, CaptureSink& sink) {
  constexpr size_t kText = offsetof(syscap_fd, text);
  syscap_fd record;  // its text stays where it is
  if (bytes.size() < kText) return false;
  std::memcpy(&record, bytes.data(), kText);
  if (record.node >= context.nodes || record.text_bytes > bytes.size() - kText) return false;
  FdRecord out = make_fd_record(record, bytes.substr(kText, record.text_bytes), context.wall_offset_ns);
  if (out.kind == FdKind::path)
    out.name = context.folders.complete(out.process, record.fd, std::move(out.name));
  else
    context.folders.learn(out);
  if (out.kind == FdKind::path || out.fd >= 0) sink.on_fd(record.node, std::move(out));
  return true;
}

}  // namespace

void OpenFolders::learn(const FdRecord& record) {
  constexpr size_t kMost = 100'000;  // then it begins anew: a path stays relative at worst
  const std::pair key{record.process, record.fd};
  if (record.kind != FdKind::folder) {
    names_.erase(key);
    return;
  }
  if (names_.size() >= kMost) names_.clear();
  names_[key] = record.name;
}

std::string OpenFolders::complete(int32_t process, int32_t folder, std::string path) const {
  auto found = names_.find({process, folder});
  return found == names_.end() ? path : path_in(found->second, std::move(path));
}

Call make_call(const syscap_call& record, int64_t wall_offset_ns) {
  Call call;
  call.kind = static_cast<CallKind>(record.type);
  call.sequence = record.sequence;
  call.start_ns = static_cast<int64_t>(record.start_ns) + wall_offset_ns;
  call.duration_ns = record.duration_ns < 0 ? kUnfinished : record.duration_ns;
  call.process = record.process;
  call.thread = record.thread;
  call.number = record.number;
  unsigned mask = argument_mask(record);
  for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = (mask >> i & 1) != 0 ? record.args[i] : 0;
  call.result = record.result;
  return call;
}

FdRecord make_fd_record(const syscap_fd& record, std::string_view text, int64_t wall_offset_ns) {
  FdRecord out;
  out.t_ns = static_cast<int64_t>(record.time_ns) + wall_offset_ns;
  out.process = record.process;
  if (record.marks & kSyscapUserPath) {
    out.kind = FdKind::path;
    out.sequence = record.sequence;
    out.name = first_string(text);
    if (text.size() >= kSyscapMostUserPath) out.name += "...";
    return out;
  }
  out.fd = record.fd;
  out.kind = kind_of(record);
  out.flags = record.open_flags;
  out.device = record.device;
  out.inode = record.inode;
  if (out.kind == FdKind::socket)
    fill_socket(record, text, out);
  else
    out.name = name_of_file(record, text);
  return out;
}

std::string path_of_components(std::string_view text, unsigned marks) {
  std::vector<std::string_view> components;  // the last one of the path first
  while (!text.empty()) {
    size_t end = text.find('\0');
    components.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  std::string path = (marks & kSyscapCut) ? "..." : "";
  for (auto it = components.rbegin(); it != components.rend(); ++it) {
    path += '/';
    path += *it;
  }
  if (path.empty()) path.push_back('/');
  if (marks & kSyscapDeleted) path += " (deleted)";
  return path;
}

bool deliver_event(std::string_view bytes, EventContext& context, CaptureSink& sink) {
  __u16 type = 0;
  if (bytes.size() < sizeof type) return false;
  std::memcpy(&type, bytes.data(), sizeof type);
  if (type == kSyscapFd) return deliver_fd(bytes, context, sink);
  return type < kCallKinds && deliver_call(bytes, context, sink);
}

}  // namespace culprit
