#include "diskd/control_server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "vdisk/control.h"

namespace culprit {

namespace {

constexpr int kMaxClients = 128;
constexpr int kSendSeconds = 10;  // a client that does not read its answer is let go
constexpr size_t kStack = 256 * 1024;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return input_error(cat("the socket's path ", printable(path), " has not 1 to 107 bytes"));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool somebody_listens(const sockaddr_un& address) {
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int done = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return done == 0 || errno == EAGAIN;
}

bool send_line(int fd, std::string line) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    ssize_t n = ::send(fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    left.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Answers the whole lines in `text` and takes them out of it.
bool answer_lines(int fd, std::string& text, const ControlServer::Answer& answer) {
  size_t end;
  while ((end = text.find('\n')) != std::string::npos) {
    if (!send_line(fd, answer(trim(std::string_view(text).substr(0, end))))) return false;
    text.erase(0, end + 1);
  }
  return true;
}

struct ClientJob {
  Fd fd;
  const ControlServer::Answer* answer;
  std::atomic<int>* clients;
};

void* client_thread(void* argument) {
  std::unique_ptr<ClientJob> job(static_cast<ClientJob*>(argument));
  serve_control_client(job->fd.get(), *job->answer);
  --*job->clients;
  return nullptr;
}

struct AcceptJob {
  Fd listener;  // its own: the number must not become another file's under the thread's hands
  ControlServer::Answer answer;
  std::atomic<int> clients = 0;
};

bool start_detached(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, function, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

void take_client(AcceptJob& job, Fd client) {
  timeval limit{.tv_sec = kSendSeconds, .tv_usec = 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (job.clients >= kMaxClients) {
    send_line(client.get(), "error too many clients at once hint: end some");
    return;
  }
  ++job.clients;
  auto one = std::make_unique<ClientJob>(ClientJob{std::move(client), &job.answer, &job.clients});
  if (start_detached(&client_thread, one.get()))
    one.release();
  else
    --job.clients;
}

void* accept_thread(void* argument) {
  auto& job = *static_cast<AcceptJob*>(argument);  // lives as long as the process
  while (true) {
    Fd client(::accept4(job.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid())
      take_client(job, std::move(client));
    else if (errno != EINTR && errno != ECONNABORTED)
      ::usleep(100'000);  // no descriptors left: some client will end
  }
}

}  // namespace

void serve_control_client(int fd, const ControlServer::Answer& answer) {
  std::string text;
  char block[1024];
  while (true) {
    ssize_t n = ::recv(fd, block, sizeof block, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.append(block, static_cast<size_t>(n));
    if (!answer_lines(fd, text, answer)) return;
    if (text.size() > kMaxControlLine) {
      send_line(fd, cat("error a line has at most ", kMaxControlLine, " bytes"));
      return;
    }
  }
}

Result<ControlServer> ControlServer::listen(const std::string& path) {
  ASSIGN_OR_RETURN(sockaddr_un address, address_of(path));
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return input_error(cat(path, " exists and is not a socket"));
    if (somebody_listens(address)) return input_error(cat("somebody listens on ", path, " already"));
    ::unlink(path.c_str());
  }
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return system_error("cannot make a socket", errno);
  mode_t before = ::umask(0177);  // whoever can write to it can break disks
  int bound = ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  int failed = errno;
  ::umask(before);
  if (bound != 0) return system_error(cat("cannot make the socket ", path), failed);
  if (::listen(listener.get(), 64) != 0) return system_error(cat("cannot listen on ", path), errno);
  return ControlServer(path, std::move(listener));
}

void ControlServer::start(Answer answer) {
  auto* job = new AcceptJob{Fd(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0)),
                            std::move(answer)};  // for the rest of the process
  CHECK(start_detached(&accept_thread, job)) << "no thread";
}

void ControlServer::remove_socket() const {
  ::unlink(path_.c_str());
}

}  // namespace culprit
