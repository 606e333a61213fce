// What runs on the clients while servers are compared. One file each in workloads/; `culprit list workloads`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit {

class Stage;
struct Node;

constexpr std::string_view kNodeProgram = "culprit-node";

struct Workload {
  std::string_view name;
  std::string_view summary;
  bool control = false;           // no fault, but it looks odd: a server that is accused under it is a false alarm
  std::string_view program = "";  // what the clients need; kNodeProgram: ours
  std::string_view package = "";  // where Debian has it
  // Files and whatever else must be there; called once per lab, and again when the lab was made anew.
  Status (*prepare)(Stage& stage) = nullptr;
  // The shell script that a client runs: for `seconds`, or, with seconds = 0, a fixed piece of work (to compare times).
  std::string (*script)(const Stage& stage, size_t client, int64_t seconds) = nullptr;
  // Why it makes no sense here; asked after prepare.
  Status (*check)(const Stage& stage) = nullptr;
  // What a server runs meanwhile; "": nothing.
  std::string (*server_script)(const Stage& stage, const Node& server) = nullptr;
  // A fault that comes and goes while the workload already runs, before recording begins (heal: a crash).
  std::string_view disturbed_by = "";
};

std::span<const Workload* const> study_workloads();
Result<const Workload*> find_workload(std::string_view name);

// What the workloads share.
constexpr int64_t kFixedBytes = int64_t{96} << 20;  // of a client, when work is fixed and time is measured
Status make_stage_files(Stage& stage);
// One command per file of the client, all at once; the first that fails ends them all. `command` gets the quoted path.
using FileCommand = std::function<std::string(const std::string& file)>;
std::string on_each_file(const Stage& stage, size_t client, const FileCommand& command);
// For reads without direct I/O: lets the servers forget what they have read, every second.
std::string drop_server_caches(const Stage& stage, const Node& server);
// Again and again, or once when the work is fixed.
std::string endlessly(int64_t seconds, const std::string& command);
// How many records of 4 MiB dd copies from or to each file: all of it, or its part of the fixed work.
int64_t dd_records(const Stage& stage, size_t client, int64_t seconds);
// culprit-node load on a file.
std::string load_command(const Stage& stage, size_t client, const std::string& file, std::string_view phases,
                         int64_t seconds, std::string_view words = "");

}  // namespace culprit
