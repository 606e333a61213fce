#include "hosts/runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/procfile.h"
#include "base/text.h"
#include "hosts/keeper.h"
#include "hosts/shell.h"

namespace culprit {

namespace {

Error fine() {
  return Error{};
}

class LocalRunner : public Runner {
 public:
  explicit LocalRunner(std::string name) : Runner(std::move(name)) {}
  std::vector<std::string> argv(const std::vector<std::string>& command) const override { return command; }
  Error explain(int, std::string_view) const override { return fine(); }
};

// A lab's node has a keeper, and all of its namespaces are entered; otherwise NAME is one of `ip netns`. nsenter and
// not `ip netns exec`: that one unshares the mounts, and what is mounted later would not be seen.
class NamespaceRunner : public Runner {
 public:
  NamespaceRunner(std::string name, const std::string& ns)
      : Runner(std::move(name)), ns_(ns), path_(cat("/run/netns/", ns)) {}

  std::vector<std::string> argv(const std::vector<std::string>& command) const override {
    std::vector<std::string> words = {"nsenter", cat("--net=", path_), "--"};
    if (auto keeper = find_keeper(ns_))
      words = {"nsenter", cat("--target=", keeper->pid), "--net", "--mount", "--uts", "--pid", "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  Error explain(int exit_code, std::string_view err) const override {
    if (exit_code == 0 || !err.starts_with("nsenter:")) return fine();
    if (path_exists(keeper_file(ns_))) {
      if (auto keeper = find_keeper(ns_); !keeper) return keeper.error();
    } else if (!path_exists(path_)) {
      return system_error(cat("there is no namespace ", ns_, ": the lab is not up"), 0,
                          "`culprit lab list` and `ip netns list` show those that exist");
    }
    std::string hint = ::geteuid() == 0 ? "" : "entering a namespace needs root";
    return system_error(cat("cannot enter namespace ", ns_, ": ", printable(trim(err), 200)), 0, hint);
  }

 private:
  std::string ns_;
  std::string path_;
};

// What ssh prints, and what it means to the user. The first that is found in the text counts.
struct SshFailure {
  std::string_view text;
  std::string_view what;
  std::string_view hint;
};
constexpr SshFailure kSshFailures[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", "the host key of ",
     "it is another machine now, or somebody sits in between; if the change is known, remove the old key with "
     "`ssh-keygen -R HOST`"},
    {"Host key verification failed", "the host key is not known for ",
     "log in once by hand and accept it, or add it with `ssh-keyscan HOST >> ~/.ssh/known_hosts` after checking it"},
    {"Permission denied", "permission denied on ",
     "culprit logs in without a password: put your public key into the node's authorized_keys, or start an ssh agent"},
    {"Could not resolve hostname", "the name cannot be resolved: ", "check the name in cluster.toml"},
    {"Connection refused", "nobody listens for ssh on ", "is sshd running there, and is the port right?"},
    {"timed out", "not reachable: ", "the host is down, or a firewall drops its packets"},
    {"Timeout, server", "the connection was silent for too long: ", ""},
    {"No route to host", "not reachable: ", "check the address and the network"},
    {"Network is unreachable", "not reachable: ", "check the address and the network"},
};

std::string last_line(std::string_view text) {
  text = trim(text);
  size_t newline = text.rfind('\n');
  return printable(trim(newline == std::string_view::npos ? text : text.substr(newline + 1)), 200);
}

class SshRunner : public Runner {
 public:
  SshRunner(std::string name, Reach reach, std::vector<std::string> options)
      : Runner(std::move(name)), reach_(std::move(reach)), options_(std::move(options)) {}

  bool same_machine() const override { return false; }

  std::vector<std::string> argv(const std::vector<std::string>& command) const override {
    std::vector<std::string> words = {"ssh", "-T"};
    words.insert(words.end(), options_.begin(), options_.end());  // first: ssh keeps the first value of an option
    for (const char* option : {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
                               "ClearAllForwardings=yes"}) {
      words.push_back("-o");
      words.push_back(option);
    }
    if (reach_.port) words.insert(words.end(), {"-p", std::to_string(reach_.port)});
    if (!reach_.user.empty()) words.insert(words.end(), {"-l", reach_.user});
    words.insert(words.end(), {"--", reach_.host, shell_command(command)});
    return words;
  }

  Error explain(int exit_code, std::string_view err) const override {
    if (exit_code != 255) return fine();  // any other code is the command's own
    for (const SshFailure& failure : kSshFailures) {
      if (err.find(failure.text) == std::string_view::npos) continue;
      std::string suffix = failure.text.starts_with("REMOTE") ? " has changed" : "";
      return system_error(cat(failure.what, name(), suffix), 0, std::string(failure.hint));
    }
    std::string reason = last_line(err);
    return system_error(cat("ssh to ", name(), " failed", reason.empty() ? "" : ": ", reason), 0,
                        "try the same with `ssh -v` by hand");
  }

 private:
  Reach reach_;
  std::vector<std::string> options_;
};

std::vector<std::string> options_from_environment() {
  const char* text = std::getenv("CULPRIT_SSH_OPTIONS");
  std::vector<std::string> words;
  std::string_view rest = text ? text : "";
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) words.emplace_back(word);
  return words;
}

}  // namespace

Result<Output> Runner::run(const std::vector<std::string>& command, int64_t timeout_ns, std::string_view input) const {
  auto output = run_command(argv(command), timeout_ns, input);
  if (!output) {
    Error error = std::move(output).error();
    error.what = cat(name(), ": ", error.what);
    return error;
  }
  Error failure = explain(output->exit_code, output->err);
  if (!failure.what.empty()) return failure;
  return output;
}

std::unique_ptr<Runner> make_runner(const Reach& reach, std::string name, std::vector<std::string> ssh_options) {
  switch (reach.kind) {
    case ReachKind::local:
      return std::make_unique<LocalRunner>(std::move(name));
    case ReachKind::ns:
      return std::make_unique<NamespaceRunner>(std::move(name), reach.ns);
    case ReachKind::ssh:
      break;
  }
  return std::make_unique<SshRunner>(std::move(name), reach, std::move(ssh_options));
}

Result<std::unique_ptr<Runner>> make_runner(const Node& node) {
  auto reach = parse_reach(node.reach);
  if (!reach) {
    Error error = reach.error();
    error.what = cat("node ", node.name, ": ", error.what);
    return error;
  }
  return make_runner(*reach, node.reach, options_from_environment());
}

}  // namespace culprit
