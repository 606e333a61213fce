// Where a campaign plays: clients with the file system mounted, servers with disks, and the files that workloads use.
// Works on a lab and on a site alike, because everything goes through the nodes' runners.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "hosts/runner.h"
#include "hosts/shell.h"
#include "model/cluster.h"

namespace culprit {

class Stage {
 public:
  // `tools` is the folder of culprit and culprit-node on this machine; `stop` ends every script that runs.
  static Result<Stage> open(Cluster cluster, std::string mount, bool direct, std::string tools,
                            std::function<bool()> stop);

  const Cluster& cluster() const { return *cluster_; }
  const std::vector<const Node*>& clients() const { return clients_; }
  const std::vector<const Node*>& servers() const { return servers_; }  // all of them, also those without data
  const std::string& mount() const { return mount_; }
  bool direct() const { return direct_; }
  bool one_machine() const;  // all nodes are on it, and share its CPUs

  // The file system's folders of a client: what lasts, and what is emptied before each run.
  std::string data_folder(size_t client) const;
  std::string scratch_folder(size_t client) const;
  // culprit-node as this node can start it.
  std::string node_program(const Node& node) const;

  // The words that run a script on a node; and running it to its end, a non-zero exit code being an error.
  std::vector<std::string> command(const Node& node, const std::string& script) const;
  // Of what it prints, the beginning and the end are kept.
  enum class Stop { heeded, ignored };
  Result<std::string> sh(const Node& node, const std::string& script, int64_t timeout_ns,
                         Stop stop = Stop::heeded) const;
  // On several at once; the first error in the order of the list.
  using ScriptOf = std::function<std::string(const Node& node, size_t index)>;
  Status sh_all(const std::vector<const Node*>& nodes, const ScriptOf& script, int64_t timeout_ns,
                Stop stop = Stop::heeded) const;

  // Every client answers within a few seconds and has the file system mounted, every server answers.
  Status check() const;
  // Every server runs one of its file system's daemons, `except` left out: a brick that gave up is no longer a server.
  Status check_daemons(const std::string& except = "") const;
  // Removes what campaigns made on the file system, also after somebody asked to stop.
  Status clean() const;

  // Files that are there for reading and for writing over, by client: one when each file lies on all servers, otherwise
  // one per server, chosen by looking where the data of candidates went. Made once.
  Status make_files();
  const std::vector<std::string>& files(size_t client) const { return files_[client]; }
  bool spread() const { return spread_; }
  int64_t file_bytes() const;

 private:
  Result<std::vector<double>> written_sectors() const;  // by server with data
  Result<std::vector<double>> probe(size_t client, const std::string& file) const;
  Status choose_files(size_t client);
  Status fill(size_t client) const;

  std::unique_ptr<Cluster> cluster_;  // at a fixed place: nodes are pointed at
  std::vector<const Node*> clients_, servers_, data_servers_;
  std::map<std::string, std::shared_ptr<Runner>> runners_;
  std::string mount_;
  bool direct_ = true;
  std::string tools_;
  std::function<bool()> stop_;
  bool spread_ = true;
  std::vector<std::vector<std::string>> files_;
};

// The script that succeeds where one of these programs runs; names as in /proc/PID/comm.
std::string running_script(const std::vector<std::string>& names);

// Of candidates with a load for each server, the `count` that together load the servers most evenly, greedily.
std::vector<size_t> most_even(const std::vector<std::vector<double>>& loads, size_t count);

}  // namespace culprit
