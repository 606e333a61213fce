// The daemons of a node's file system as processes: found by their names in the node's own /proc, written down so that
// each can be started again as it ran, stopped, and started again. It knows no file system on purpose: the same command
// line in the same place with the same environment is a restart of any of them, and `restart=COMMAND` is for the rest.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "inject/fault.h"

namespace culprit {

// One daemon as it runs now.
struct RunningDaemon {
  ProcessId id;
  pid_t parent = 0;
  char state = 0;  // as in /proc/PID/stat
  std::string comm;
  std::vector<std::string> argv;
  bool worker = false;  // a child of another of them, which brings it back by itself
};

// Whom it ran as.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// What starting it again takes.
struct Service {
  RunningDaemon daemon;
  std::string exe;
  std::string cwd;
  std::vector<std::string> environment;
  Identity identity;
  mode_t umask = 022;
  std::map<int, rlimit> limits;  // resource -> its limits
};

// The parameter that the faults of the class `restart` share.
inline constexpr FaultParam kRestartParam = {"restart", "COMMAND", "",
                                             "how the daemons are started again, for example \"systemctl restart "
                                             "glusterd\"; without it, by the command line they "
                                             "had"};

// Processes of our own network namespace with one of these names (also as the kernel cuts them, and NAME/...), zombies
// left out, by number.
std::vector<RunningDaemon> find_daemons(const std::string& proc, const std::vector<std::string>& names);
Result<Identity> identity_of(pid_t pid, const std::string& proc);
Result<std::map<int, rlimit>> limits_of(pid_t pid, const std::string& proc);  // resource -> its limits

// Writes all that is needed to start the part's daemons again into the notes. `need`: an error when none is running.
enum class Need { none, one };
Status note_services(FaultWork& work, Need need);
Result<std::vector<Service>> noted_services(const FaultWork& work);

// Those of the notes that are down: not they, and nobody with the same name and command line in their place.
Result<std::vector<Service>> missing_services(const FaultWork& work);
// The noted processes that still live, whatever their state.
Result<std::vector<ProcessId>> noted_processes(const FaultWork& work);

// Ends all of the part's daemons, whoever started them: SIGTERM, a while to finish, SIGKILL.
Status stop_services(const FaultWork& work);
// Starts what is missing and waits until it is there.
Status restart_services(const FaultWork& work);

// Words as one line of text without blanks, quotes and control bytes, for the journal.
std::string encode_words(const std::vector<std::string>& words);
Result<std::vector<std::string>> decode_words(std::string_view text);

}  // namespace culprit
