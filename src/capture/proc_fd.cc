#include "capture/proc_fd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMostName = 4096;        // of a path, as the logs keep it
constexpr uint32_t kLargeFile = 0100000;  // O_LARGEFILE of the kernel; the C library's is 0 on 64 bit
constexpr int64_t kMostTable = 64 << 20;  // of a table in /proc/PID/net
constexpr std::string_view kSocket = "socket:[";

struct NumberText {
  explicit NumberText(int number) {
    auto [end, error] = std::to_chars(text, text + sizeof text - 1, number);
    *end = 0;
  }
  char text[16];
};

bool lacks_descriptors() {
  return errno == EMFILE || errno == ENFILE;
}

FdKind kind_of(std::string_view link, mode_t mode) {
  if (link.starts_with(kSocket)) return FdKind::socket;
  if (link.starts_with("pipe:")) return FdKind::pipe;
  if (link.starts_with("anon_inode:")) return FdKind::anonymous;
  if (S_ISDIR(mode)) return FdKind::folder;
  if (S_ISFIFO(mode)) return FdKind::pipe;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return FdKind::device;
  return FdKind::file;
}

uint32_t flags_of(pid_t thread, int fd, bool& starved) {
  Fd file(::open(cat("/proc/", thread, "/fdinfo/", fd).c_str(), O_RDONLY | O_CLOEXEC));
  starved = starved || (!file.valid() && lacks_descriptors());
  if (!file.valid()) return 0;
  char text[256];  // "pos:\t0\nflags:\t0100002\n" comes first
  ssize_t n = ::read(file.get(), text, sizeof text);
  return n <= 0 ? 0 : parse_fdinfo_flags({text, static_cast<size_t>(n)}).value_or(0);
}

// --- sockets through a copy of the descriptor ---

struct ProtocolName {
  int family;  // 0: IPv4 and IPv6
  int protocol;
  std::string_view name;
};
constexpr std::array kProtocols = {
    ProtocolName{AF_UNIX, -1, "UNIX"},     ProtocolName{AF_NETLINK, -1, "NETLINK"},
    ProtocolName{AF_PACKET, -1, "PACKET"}, ProtocolName{0, IPPROTO_TCP, "TCP"},
    ProtocolName{0, IPPROTO_UDP, "UDP"},   ProtocolName{0, IPPROTO_ICMP, "ICMP"},
    ProtocolName{0, IPPROTO_SCTP, "SCTP"}, ProtocolName{0, IPPROTO_RAW, "RAW"},
};

int socket_option(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

using NameCall = int (*)(int fd, sockaddr* address, socklen_t* length);

std::string asked_name(NameCall ask, int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (ask(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return endpoint_text(address, std::min<socklen_t>(length, sizeof address));
}

int ask_local(int fd, sockaddr* address, socklen_t* length) {
  return ::getsockname(fd, address, length);
}
int ask_peer(int fd, sockaddr* address, socklen_t* length) {
  return ::getpeername(fd, address, length);
}

void fill_from_copy(int copy, FdRecord& record) {
  int family = socket_option(copy, SO_DOMAIN);
  record.protocol = protocol_name(family, socket_option(copy, SO_PROTOCOL));
  std::string local = asked_name(ask_local, copy);
  std::string peer = asked_name(ask_peer, copy);
  if (family == AF_UNIX) {
    record.name = local.empty() ? peer : local;  // a client's own end mostly has no name
    return;
  }
  record.local = std::move(local);
  record.peer = std::move(peer);
}

// --- sockets through the tables of /proc/PID/net ---

struct NetTable {
  std::string_view file;
  std::string_view protocol;
};
constexpr std::array kInetTables = {NetTable{"tcp", "TCP"},  NetTable{"tcp6", "TCP"}, NetTable{"udp", "UDP"},
                                    NetTable{"udp6", "UDP"}, NetTable{"raw", "RAW"},  NetTable{"raw6", "RAW"}};

std::string net_table(pid_t thread, std::string_view file) {
  auto text = read_file(cat("/proc/", thread, "/net/", file), kMostTable);
  return text ? std::move(*text) : std::string();
}

void fill_from_tables(pid_t thread, FdRecord& record) {
  for (const NetTable& table : kInetTables) {
    if (!find_inet_socket(net_table(thread, table.file), record.inode, record.local, record.peer)) continue;
    record.protocol = table.protocol;
    return;
  }
  std::string path;
  if (!find_unix_socket(net_table(thread, "unix"), record.inode, path)) return;
  record.protocol = "UNIX";
  record.name = path;
}

template <class Integer>
bool parse_hex(std::string_view text, Integer& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// "0100007F:0016" or 32 digits for IPv6: 32-bit words in the machine's byte order, as the kernel has them in memory.
bool parse_table_endpoint(std::string_view text, std::string& out) {
  size_t colon = text.find(':');
  uint16_t port = 0;
  if ((colon != 8 && colon != 32) || !parse_hex(text.substr(colon + 1), port)) return false;
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < colon / 8; ++i)
    if (!parse_hex(text.substr(i * 8, 8), words[i])) return false;
  sockaddr_storage address{};
  if (colon == 8) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = words[0];
    out = endpoint_text(address, sizeof *v4);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, words.data(), sizeof v6->sin6_addr);
    out = endpoint_text(address, sizeof *v6);
  }
  return true;
}

std::string inet_text(int family, const void* address, uint16_t port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (!::inet_ntop(family, address, text, sizeof text)) return "";
  return family == AF_INET ? cat(text, ":", int{port}) : cat("[", text, "]:", int{port});
}

std::string unix_text(const sockaddr_un& address, size_t length) {
  constexpr size_t kStart = offsetof(sockaddr_un, sun_path);
  if (length <= kStart) return "";  // it has no name
  std::string_view path(address.sun_path, std::min(length - kStart, sizeof address.sun_path));
  if (path.front() == 0) return cat("@", path.substr(1));
  return std::string(path.substr(0, path.find('\0')));
}

}  // namespace

std::string ProcFds::folder(int fd, pid_t thread) {
  if (fd >= 0) {
    auto record = look_up(fd, thread);
    return record && record->kind == FdKind::folder ? record->name : "";
  }
  starved_ = false;
  if (fd != AT_FDCWD) return "";
  char path[kMostName];
  ssize_t n = ::readlink(cat("/proc/", thread, "/cwd").c_str(), path, sizeof path);
  return n <= 0 ? "" : std::string(path, static_cast<size_t>(n));
}

uint32_t kept_flags(uint64_t open_flags) {
  constexpr uint32_t kOnlyOpening = O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC;
  return (static_cast<uint32_t>(open_flags) & ~kOnlyOpening) | kLargeFile;
}

std::string protocol_name(int family, int protocol) {
  for (const ProtocolName& row : kProtocols) {
    bool inet = family == AF_INET || family == AF_INET6;
    if (row.family == family || (row.family == 0 && inet && row.protocol == protocol)) return std::string(row.name);
  }
  return "socket";
}

std::string endpoint_text(const sockaddr_storage& address, socklen_t length) {
  if (address.ss_family == AF_INET && length >= sizeof(sockaddr_in)) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    if (v4.sin_port == 0 && v4.sin_addr.s_addr == 0) return "";
    return inet_text(AF_INET, &v4.sin_addr, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (v6.sin6_port == 0 && IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) return "";
    return inet_text(AF_INET6, &v6.sin6_addr, ntohs(v6.sin6_port));
  }
  if (address.ss_family == AF_UNIX) return unix_text(reinterpret_cast<const sockaddr_un&>(address), length);
  return "";
}

std::optional<uint32_t> parse_fdinfo_flags(std::string_view text) {
  std::string_view line;
  while (next_line(text, line)) {
    if (!line.starts_with("flags:")) continue;
    std::string_view digits = trim(line.substr(6));
    uint32_t flags = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), flags, 8);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) return flags;
    return std::nullopt;
  }
  return std::nullopt;
}

bool find_inet_socket(std::string_view table, uint64_t inode, std::string& local, std::string& peer) {
  constexpr int kSkipped = 6;  // state, queues, timer, retransmits, user, timeout: between the addresses and the inode
  std::string_view line;
  while (next_line(table, line)) {
    next_word(line);  // "12:"
    std::string_view local_word = next_word(line);
    std::string_view peer_word = next_word(line);
    for (int i = 0; i < kSkipped; ++i) next_word(line);
    int64_t number = 0;
    if (!next_number(line, number) || static_cast<uint64_t>(number) != inode) continue;
    return parse_table_endpoint(local_word, local) && parse_table_endpoint(peer_word, peer);
  }
  return false;
}

bool find_unix_socket(std::string_view table, uint64_t inode, std::string& path) {
  constexpr int kSkipped = 6;  // address, references, protocol, flags, type, state
  std::string_view line;
  while (next_line(table, line)) {
    for (int i = 0; i < kSkipped; ++i) next_word(line);
    int64_t number = 0;
    if (!next_number(line, number) || static_cast<uint64_t>(number) != inode) continue;
    path = trim(line);
    return true;
  }
  return false;
}

bool ProcFds::read_link(int fd, pid_t thread, std::string& link) {
  NumberText name(fd);
  char text[kMostName];
  for (pid_t who : {process_, thread}) {
    if (who <= 0) continue;
    if (shown_by_ != who || !folder_.valid()) {
      folder_.reset(::open(cat("/proc/", who, "/fd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      starved_ = starved_ || (!folder_.valid() && lacks_descriptors());
      shown_by_ = who;
    }
    ssize_t n = folder_.valid() ? ::readlinkat(folder_.get(), name.text, text, sizeof text) : -1;
    if (n < 0 && thread == process_) return false;
    if (n < 0) continue;
    link.assign(text, static_cast<size_t>(n));
    return true;
  }
  return false;
}

void ProcFds::fill_socket(FdRecord& record) {
  if (!handle_.valid()) handle_.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  Fd copy(handle_.valid() ? static_cast<int>(::syscall(SYS_pidfd_getfd, handle_.get(), record.fd, 0)) : -1);
  starved_ = starved_ || (!copy.valid() && lacks_descriptors());
  std::string number = std::move(record.name);
  record.name.clear();
  if (copy.valid())
    fill_from_copy(copy.get(), record);
  else
    fill_from_tables(shown_by_, record);
  if (record.name.empty() && record.local.empty() && record.peer.empty()) record.name = std::move(number);
}

std::optional<FdRecord> ProcFds::look_up(int fd, pid_t thread, std::optional<uint32_t> flags) {
  FdRecord record;
  starved_ = false;
  if (fd < 0 || !read_link(fd, thread, record.name)) return std::nullopt;
  // Without asking the file system: it may be FUSE, and its daemon a process that waits for us in a stop.
  struct statx info {};
  constexpr int kHow = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
  if (::statx(folder_.get(), NumberText(fd).text, kHow, STATX_TYPE | STATX_INO, &info) == 0) {
    record.device = uint64_t{info.stx_dev_major} << 20 | info.stx_dev_minor;
    record.inode = info.stx_ino;
  }
  record.process = process_;
  record.fd = fd;
  record.kind = kind_of(record.name, info.stx_mode);
  record.flags = flags ? *flags : flags_of(shown_by_, fd, starved_);
  if (record.kind == FdKind::socket) fill_socket(record);
  return record;
}

}  // namespace culprit
