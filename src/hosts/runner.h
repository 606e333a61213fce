// Where a command runs: here, in a network namespace, or on another machine through the site's own OpenSSH.
// A runner only turns a command into the local command that runs it there; so the same words serve for a command that
// is run to its end and for a child that streams.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.h"
#include "model/cluster.h"
#include "model/reach.h"

namespace culprit {

class Runner {
 public:
  virtual ~Runner() = default;

  // For messages: "local", "ns:s1", "ssh:root@node7".
  const std::string& name() const { return name_; }
  // Local nodes and namespaces share this machine's clock, files and processors.
  virtual bool same_machine() const { return true; }
  // The full local command that runs `command` there. Each word arrives as it is.
  virtual std::vector<std::string> argv(const std::vector<std::string>& command) const = 0;
  // Why running there failed, from the exit code and stderr. An empty `what`: the way there is fine, and the exit code
  // is the command's own.
  virtual Error explain(int exit_code, std::string_view err) const = 0;

  // Runs it to its end. An Error means that it could not be run; its own exit code is in the Output.
  Result<Output> run(const std::vector<std::string>& command, int64_t timeout_ns, std::string_view input = "") const;

 protected:
  explicit Runner(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// `ssh_options` are further words for ssh; they win over ours. make_runner takes them from CULPRIT_SSH_OPTIONS.
std::unique_ptr<Runner> make_runner(const Reach& reach, std::string name, std::vector<std::string> ssh_options);
Result<std::unique_ptr<Runner>> make_runner(const Node& node);

}  // namespace culprit
