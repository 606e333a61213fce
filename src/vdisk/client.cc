#include "vdisk/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/procfile.h"
#include "base/text.h"
#include "vdisk/control.h"

namespace culprit {

namespace {

constexpr int kAnswerSeconds = 120;       // a snapshot of a large image takes seconds; nothing takes minutes
constexpr size_t kMaxAnswer = 64 * 1024;  // a list of 1000 disks with the longest names

Status send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot ask the disk daemon", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Ok{};
}

// One line without its newline. The daemon answers one line per question, so nothing follows it.
Result<std::string> receive_line(int fd) {
  std::string text;
  char block[4096];
  while (text.size() <= kMaxAnswer) {
    ssize_t n = ::recv(fd, block, sizeof block, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return input_error("the disk daemon does not answer");
    if (n < 0) return system_error("cannot hear the disk daemon", errno);
    if (n == 0) return input_error("the disk daemon ended before it answered");
    text.append(block, static_cast<size_t>(n));
    if (size_t end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
  }
  return input_error("the disk daemon's answer has no end");
}

DiskAnswer read_answer(std::string_view words) {
  DiskAnswer answer;
  for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
    size_t equals = word.find('=');
    std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    answer.emplace(word.substr(0, equals), value);
  }
  return answer;
}

}  // namespace

Result<DiskClient> DiskClient::connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path)
    return input_error(cat("the socket's path ", printable(socket_path), " is longer than 107 bytes"));
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_error("cannot make a socket", errno);
  timeval limit{.tv_sec = kAnswerSeconds, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return system_error(cat("cannot reach the disk daemon at ", socket_path), errno,
                        "virtual disks exist in a lab: is it up?");
  return DiskClient(std::move(socket));
}

Result<DiskAnswer> DiskClient::ask(std::string_view line) {
  ASSIGN_OR_RETURN(std::string text, ask_text(line));
  return read_answer(text);
}

Result<std::string> DiskClient::ask_text(std::string_view line) {
  if (line.find('\n') != std::string_view::npos) return input_error("a question to the disk daemon is one line");
  RETURN_IF_ERROR(send_all(socket_.get(), cat(line, "\n")));
  ASSIGN_OR_RETURN(std::string answer, receive_line(socket_.get()));
  if (answer == "ok" || answer.starts_with("ok ")) return std::string(trim(std::string_view(answer).substr(2)));
  if (answer.starts_with("error ")) return parse_disk_error(answer);
  return input_error(cat("the disk daemon said '", printable(answer), "'"), "is it another version?");
}

Result<std::string> virtual_disk_behind(std::string_view device, const std::string& sys) {
  if (device.starts_with("/dev/")) device.remove_prefix(5);
  if (!valid_disk_name(device)) return input_error(cat("'", printable(device), "' is not the name of a disk"));
  std::string path = cat(sys, "/block/", device, "/loop/backing_file");
  if (!path_exists(path))
    return unsupported_error(cat(device, " is not a loop device in use"), "only a lab's virtual disks can do this");
  ASSIGN_OR_RETURN(std::string text, read_file(path, 64 * 1024));
  std::string_view file = trim(text);
  constexpr std::string_view kSuffix = ".img";
  file = file.substr(file.rfind('/') + 1);  // npos + 1 is 0: the whole name
  if (!file.ends_with(kSuffix))
    return unsupported_error(cat(device, " serves ", printable(file), ", which is not a virtual disk's image"));
  std::string name(file.substr(0, file.size() - kSuffix.size()));
  if (!valid_disk_name(name)) return unsupported_error(cat("'", printable(name), "' is not a virtual disk's name"));
  return name;
}

}  // namespace culprit
