// The control socket: a thread per client, one line in, one line out. A client that sends nonsense, nothing or no end
// costs a thread that waits and a bounded buffer; there is a limit on them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace culprit {

class ControlServer {
 public:
  using Answer = std::function<std::string(std::string_view line)>;

  // Takes the place of a socket that nobody answers on; refuses when somebody does.
  static Result<ControlServer> listen(const std::string& path);
  // Serves until the process ends. The threads are detached: the daemon's end is the end of the process.
  void start(Answer answer);
  void remove_socket() const;

 private:
  ControlServer(std::string path, Fd listener) : path_(std::move(path)), listener_(std::move(listener)) {}
  std::string path_;
  Fd listener_;
};

// One client to its end, on a connected socket: for the server and its tests.
void serve_control_client(int fd, const ControlServer::Answer& answer);

}  // namespace culprit
