// The program culprit: signals, then the command line.
#include <signal.h>

#include "cli/command.h"

int main(int argc, char** argv) {
  // A handler instead of SIG_IGN, because an ignored signal is inherited by the programs we start.
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &nothing, nullptr);
  return culprit::run_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
