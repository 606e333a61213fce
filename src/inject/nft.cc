#include "inject/nft.h"

#include <arpa/inet.h>

#include <cmath>
#include <cstdlib>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kNftLimit = 10 * kNsPerSecond;
constexpr std::string_view kNics = "nics";        // note: the NICs that are meant
constexpr std::string_view kControl = "control";  // note: SSH_CONNECTION of the guard

std::string table_of(const FaultWork& work) {
  return cat("inet culprit_", work.part.id);
}

std::string note(const FaultWork& work, std::string_view name) {
  auto found = work.notes.find(name);
  return found == work.notes.end() ? "" : found->second;
}

bool is_nic_name(std::string_view name) {
  constexpr size_t kMostBytes = 15;  // IFNAMSIZ without its zero
  if (name.empty() || name.size() > kMostBytes) return false;
  for (char c : name) {
    if (c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '/') return false;
  }
  return true;
}

// Of /proc/net/dev: that file is of the network namespace we are in, which /sys/class/net need not be.
Result<std::vector<std::string>> nics_here(const std::string& proc) {
  ASSIGN_OR_RETURN(std::string text, read_file(proc + "/net/dev"));
  std::vector<std::string> names;
  std::string_view rest = text, line;
  while (next_line(rest, line)) {
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(trim(line.substr(0, colon)));
    if (name != "lo" && is_nic_name(name)) names.push_back(name);
  }
  return names;
}

Result<std::string> meant_nics(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<std::string> here, nics_here(work.proc));
  if (work.part.nics.empty()) {
    if (here.empty()) return input_error(cat(work.part.node, " has no NIC"));
    return join(here, ",");
  }
  for (const std::string& nic : work.part.nics) {
    bool found = false;
    for (const std::string& each : here) found = found || each == nic;
    if (!found)
      return input_error(cat(work.part.node, " has no NIC ", printable(nic)),
                         cat("it has ", join(here, ", "), "; correct `nics` in cluster.toml"));
  }
  return join(work.part.nics, ",");
}

std::string elements(const FaultWork& work) {
  std::string out;
  std::string nics = note(work, kNics);
  for (std::string_view nic : split(nics, ',')) {
    out += cat(out.empty() ? "" : ", ", "\"", nic, "\" timeout ", work.part.lease_ns / kNsPerMs, "ms");
  }
  return cat("add element ", table_of(work), " lease { ", out, " }\n");
}

// The ssh connections that the guard was started through, by address and sshd's port: also the next one, which may be
// the one that comes to undo.
void spare_control(const FaultWork& work, std::string& input, std::string& output) {
  std::string connection = note(work, kControl);
  std::string_view rest = connection;
  std::string controller(next_word(rest));
  next_word(rest);
  next_word(rest);
  int64_t port = 0;
  if (controller.empty() || !next_number(rest, port)) return;
  auto from = nft_address("saddr", controller), to = nft_address("daddr", controller);
  if (!from || !to || port < 1 || port > 65535) return;
  input += cat("    ", *from, " tcp dport ", port, " accept\n");
  output += cat("    ", *to, " tcp sport ", port, " accept\n");
}

Result<Output> run_nft(const std::vector<std::string>& words, std::string_view input) {
  std::vector<std::string> argv = {"nft"};
  argv.insert(argv.end(), words.begin(), words.end());
  return run_command(argv, kNftLimit, input);
}

Status feed_nft(const std::string& text, std::string_view doing, bool check_only = false) {
  std::vector<std::string> words = {"-f", "-"};
  if (check_only) words.insert(words.begin(), "-c");
  ASSIGN_OR_RETURN(Output output, run_nft(words, text));
  if (output.exit_code == 0) return Ok{};
  return system_error(cat("cannot ", doing, ": nft says: ", printable(trim(output.err), 200)), 0,
                      "does the kernel have nf_tables, and are we root?");
}

bool says_absent(const Output& output) {
  return output.exit_code != 0 && output.err.find("No such file or directory") != std::string::npos;
}

Result<bool> table_exists(const FaultWork& work) {
  ASSIGN_OR_RETURN(Output output, run_nft({"list", "table", "inet", cat("culprit_", work.part.id)}, ""));
  if (output.exit_code == 0) return true;
  if (says_absent(output)) return false;
  return system_error(cat("cannot look at ", table_of(work), ": ", printable(trim(output.err), 200)), 0);
}

}  // namespace

Result<std::string> nft_address(std::string_view side, const std::string& address) {
  unsigned char bytes[16];
  if (::inet_pton(AF_INET, address.c_str(), bytes) == 1) return cat("ip ", side, " ", address);
  if (::inet_pton(AF_INET6, address.c_str(), bytes) == 1) return cat("ip6 ", side, " ", address);
  return input_error(cat("'", printable(address), "' is not an IP address"), "correct `address` in cluster.toml");
}

std::string nft_drop(double percent) {
  constexpr int kParts = 10000;  // a hundredth of a per cent
  auto limit = static_cast<int>(std::lround(percent * kParts / 100));
  return limit >= kParts ? "drop" : cat("numgen random mod ", kParts, " < ", limit, " drop");
}

Result<std::string> nft_table(const FaultWork& work, const NftRules& rules) {
  std::string nics = note(work, kNics);
  for (std::string_view nic : split(nics, ',')) {
    if (!is_nic_name(nic)) return input_error(cat("'", printable(nic), "' is not the name of a NIC"));
  }
  std::string input, output;
  spare_control(work, input, output);
  for (const std::string& rule : rules.input) input += cat("    iifname @lease ", rule, "\n");
  for (const std::string& rule : rules.output) output += cat("    oifname @lease ", rule, "\n");
  std::string out = cat("table ", table_of(work), " {\n  set lease { type ifname; flags timeout; }\n");
  if (!rules.input.empty())
    out += cat("  chain input {\n    type filter hook input priority 0; policy accept;\n", input, "  }\n");
  if (!rules.output.empty())
    out += cat("  chain output {\n    type filter hook output priority 0; policy accept;\n", output, "  }\n");
  return cat(out, "}\n", elements(work));
}

Status nft_prepare(FaultWork& work, const NftRules& rules) {
  ASSIGN_OR_RETURN(work.notes[std::string(kNics)], meant_nics(work));
  if (const char* connection = std::getenv("SSH_CONNECTION")) work.notes[std::string(kControl)] = connection;
  ASSIGN_OR_RETURN(bool taken, table_exists(work));
  if (taken) return input_error(cat("the packet filter already has a table ", table_of(work)), "try again");
  ASSIGN_OR_RETURN(std::string text, nft_table(work, rules));
  return feed_nft(text, "prepare the packet filter", true);
}

Status nft_apply(const FaultWork& work, const NftRules& rules) {
  ASSIGN_OR_RETURN(std::string text, nft_table(work, rules));
  return feed_nft(text, "put rules into the packet filter");
}

// Adding an element that is there leaves its time as it is; emptied and filled in one transaction it starts anew.
Status nft_prolong(const FaultWork& work) {
  return feed_nft(cat("flush set ", table_of(work), " lease\n", elements(work)), "prolong the lease");
}

Status nft_undo(const FaultWork& work) {
  ASSIGN_OR_RETURN(bool there, table_exists(work));
  if (!there) return Ok{};
  return feed_nft(cat("delete table ", table_of(work), "\n"), "remove our table from the packet filter");
}

Result<bool> nft_active(const FaultWork& work) {
  ASSIGN_OR_RETURN(Output output, run_nft({"list", "set", "inet", cat("culprit_", work.part.id), "lease"}, ""));
  if (says_absent(output)) return false;
  if (output.exit_code != 0)
    return system_error(cat("cannot look at ", table_of(work), ": ", printable(trim(output.err), 200)), 0);
  return output.out.find("elements") != std::string::npos;
}

}  // namespace culprit
