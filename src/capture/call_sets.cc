// Sets are made from the families of calls/syscalls.h; a few calls belong to a set for a reason of their own.
#include "capture/call_sets.h"

#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr size_t kMaxText = 16384;  // all calls by name are about 5000 characters

bool is_one_of(Family family, std::span<const Family> families) {
  for (Family one : families)
    if (one == family) return true;
  return false;
}

bool in_all(const Syscall&) {
  return true;
}

bool in_file(const Syscall& call) {
  constexpr std::array kFamilies = {Family::file, Family::descriptor};
  return is_one_of(call.family, kFamilies);
}

bool in_network(const Syscall& call) {
  return call.family == Family::network;
}

bool in_process(const Syscall& call) {
  return call.family == Family::process;
}

// What the diagnosis looks at. Asynchronous I/O is I/O, and a lack of memory shows in the three calls that ask for it.
bool in_io(const Syscall& call) {
  constexpr std::array kFamilies = {Family::file, Family::descriptor, Family::network, Family::process};
  constexpr std::array<std::string_view, 3> kMemory = {"mmap", "brk", "mremap"};
  if (is_one_of(call.family, kFamilies) || call.name.starts_with("io_")) return true;
  for (std::string_view name : kMemory)
    if (call.name == name) return true;
  return false;
}

struct Row {
  CallSetInfo info;
  bool (*has)(const Syscall& call);
};

constexpr std::array kRows = {
    Row{{"all", "every call"}, in_all},
    Row{{"io", "what the diagnosis needs: files, descriptors, network, processes, and calls for memory"}, in_io},
    Row{{"file", "calls on paths and descriptors"}, in_file},
    Row{{"network", "calls on sockets"}, in_network},
    Row{{"process", "starts, ends and attributes of processes"}, in_process},
};

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows)
    if (row.info.name == name) return &row;
  return nullptr;
}

void add_row(const Row& row, CallSet& set) {
  if (row.has == in_all) set.set();  // also those that the table does not know yet
  for (const Syscall& call : syscalls())
    if (call.number >= 0 && call.number < kMostSyscalls && row.has(call)) set.set(static_cast<size_t>(call.number));
}

Error unknown_word(std::string_view word) {
  std::vector<std::string> known;
  for (const Row& row : kRows) known.emplace_back(row.info.name);
  for (const Syscall& call : syscalls()) known.emplace_back(call.name);
  std::string near = did_you_mean(word, known);
  return usage_error(cat("there is no system call or set of calls named '", printable(word), "'"),
                     near.empty() ? "sets are all, io, file, network and process" : cat("did you mean ", near, "?"));
}

Status add_word(std::string_view word, CallSet& set) {
  if (const Row* row = find_row(word)) {
    add_row(*row, set);
    return Ok{};
  }
  const Syscall* call = find_syscall(word);
  if (!call || call->number < 0 || call->number >= kMostSyscalls) return unknown_word(word);
  set.set(static_cast<size_t>(call->number));
  return Ok{};
}

}  // namespace

std::span<const CallSetInfo> call_sets() {
  static const std::vector<CallSetInfo> infos = [] {
    std::vector<CallSetInfo> made;
    for (const Row& row : kRows) made.push_back(row.info);
    return made;
  }();
  return infos;
}

Result<CallSet> parse_call_set(std::string_view text) {
  CallSet set;
  if (trim(text).empty()) return usage_error("no system call is named", "sets are all, io, file, network and process");
  if (text.size() > kMaxText) return usage_error("the list of system calls is too long", "use a set: io, file, ...");
  for (std::string_view part : split(text, ',')) {
    std::string_view word = trim(part);
    if (word.empty()) return usage_error(cat("a name is missing between commas in '", printable(text), "'"));
    RETURN_IF_ERROR(add_word(word, set));
  }
  return set;
}

}  // namespace culprit
