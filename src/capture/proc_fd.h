// What a descriptor of another process is: its path, or its socket's addresses. From /proc/PID/fd, and for sockets from
// a copy of the descriptor (pidfd_getfd), which works in every network namespace and costs the same with 10,000 sockets
// around; where the kernel refuses that, from the tables in /proc/PID/net.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "calls/call.h"

namespace culprit {

class ProcFds {
 public:
  explicit ProcFds(pid_t process) : process_(process) {}

  // nullopt when it is not open (any more). t_ns, sequence and fd_class are the caller's. `thread` is one that lives:
  // a leader that ended before its threads shows no descriptors. `flags`: when the caller knows them from open's
  // arguments, one file less has to be read.
  std::optional<FdRecord> look_up(int fd, pid_t thread, std::optional<uint32_t> flags = std::nullopt);
  // Whether that found nothing, or less than there is, because we ourselves have too many files open.
  bool starved() const { return starved_; }
  // The path of a folder that it has open, or works in (AT_FDCWD); "" when there is none.
  std::string folder(int fd, pid_t thread);

 private:
  bool read_link(int fd, pid_t thread, std::string& link);
  void fill_socket(FdRecord& record);

  pid_t process_;
  pid_t shown_by_ = 0;  // whose /proc folder `folder_` is
  Fd folder_;           // /proc/PID/fd
  Fd handle_;           // pidfd, for sockets
  bool starved_ = false;
};

// Flags as the kernel keeps them of those that open was given: what only matters while opening is gone.
uint32_t kept_flags(uint64_t open_flags);

// "TCP", "UNIX", ...; "socket" for one without a name here.
std::string protocol_name(int family, int protocol);

// "10.0.0.1:49152", "[fe80::1]:24007"; of a Unix socket its path, "@name" for an abstract one; "" when it has none.
std::string endpoint_text(const sockaddr_storage& address, socklen_t length);

// The parsers, for the tests: `table` is the text of /proc/PID/net/NAME.
std::optional<uint32_t> parse_fdinfo_flags(std::string_view text);
bool find_inet_socket(std::string_view table, uint64_t inode, std::string& local, std::string& peer);
bool find_unix_socket(std::string_view table, uint64_t inode, std::string& path);

}  // namespace culprit
