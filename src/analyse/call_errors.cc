#include "analyse/call_errors.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "base/text.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

constexpr std::string_view kAtServer = "expected:";
constexpr std::string_view kAtClient = "expected_at_client:";

constexpr int kNotNow[] = {EAGAIN, EINTR, EINPROGRESS};
constexpr int kAnswers[] = {ENOENT, ENOTDIR, EISDIR, EEXIST, ENOTEMPTY,  ENODATA, ERANGE, ENAMETOOLONG,
                            ELOOP,  ESRCH,   ECHILD, ENOTTY, EOPNOTSUPP, ENOSYS,  ESPIPE, EXDEV};

struct CallErrno {
  std::string_view call;
  int error;
};

// Of other calls these accuse the disk or the program. lseek asks where data or a hole begins and is told that there is
// none, or that the file system does not know; readlink asks about what is no link.
constexpr CallErrno kAnswersOf[] = {{"lseek", ENXIO}, {"lseek", EINVAL}, {"readlink", EINVAL}, {"readlinkat", EINVAL}};
// A time-out that the program asked for is over; 11 is IORING_OP_TIMEOUT.
constexpr CallErrno kNotNowOf[] = {{"io_uring_enter", ETIME}, {"uring_11", ETIME}};

struct ErrnoResource {
  int error;
  std::string_view resource;
};

constexpr ErrnoResource kResources[] = {
    {ENOSPC, "disk"},        {EDQUOT, "disk"},        {EROFS, "disk"},    {EIO, "disk"},       {ENXIO, "disk"},
    {ENODEV, "disk"},        {ESHUTDOWN, "disk"},     {EUCLEAN, "disk"},  {ENOMEDIUM, "disk"}, {EFBIG, "limits"},
    {EMFILE, "descriptors"}, {ENFILE, "descriptors"}, {ENOMEM, "memory"}, {ENOBUFS, "memory"},
};

template <class List>
bool holds(const List& list, int error) {
  return std::find(std::begin(list), std::end(list), error) != std::end(list);
}

template <class List>
bool holds_pair(const List& list, const ErrorKey& key) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const CallErrno& pair) { return pair.call == key.call && pair.error == key.error; });
}

std::string word_of(const ErrorKey& key, bool errno_only) {
  return errno_only ? errno_name(key.error) : pair_text(key);
}

void learn(const NodeCalls& node, std::string_view prefix, Profile& profile) {
  for (const auto& [key, count] : node.errors) {
    if (means_not_now(key) || (node.server && !concerns_server(key))) continue;
    profile.thresholds[cat(prefix, pair_text(key))]["*"]["count"] += static_cast<double>(count.count);
  }
}

}  // namespace

bool means_not_now(const ErrorKey& key) {
  if (key.error >= kFirstRestart || holds(kNotNow, key.error) || holds_pair(kNotNowOf, key)) return true;
  // A wait that a signal interrupted goes on as restart_syscall.
  const bool waits = key.call.starts_with("futex") || key.call == "restart_syscall";
  return key.error == ETIMEDOUT && waits;
}

bool is_answer(const ErrorKey& key) {
  return holds(kAnswers, key.error) || holds_pair(kAnswersOf, key);
}

bool concerns_server(const ErrorKey& key) {
  return !key.socket || resource_of(key.error) == "descriptors" || resource_of(key.error) == "memory";
}

std::string resource_of(int error) {
  for (const ErrnoResource& row : kResources)
    if (row.error == error) return std::string(row.resource);
  return "";
}

std::string pair_text(const ErrorKey& key) {
  return cat(key.call, ":", errno_name(key.error));
}

ExpectedErrors::ExpectedErrors(const Profile& profile, bool errno_only) : errno_only_(errno_only) {
  auto add = [&](std::string_view metric, std::string_view prefix, std::set<std::string>& out) {
    if (!metric.starts_with(prefix)) return;
    metric.remove_prefix(prefix.size());
    if (errno_only) metric.remove_prefix(metric.rfind(':') == std::string_view::npos ? 0 : metric.rfind(':') + 1);
    out.emplace(metric);
  };
  for (const auto& [metric, rows] : profile.thresholds) {
    add(metric, kAtServer, servers_);
    add(metric, kAtClient, clients_);
  }
}

bool ExpectedErrors::at_server(const ErrorKey& key) const {
  return servers_.count(word_of(key, errno_only_)) > 0;
}

bool ExpectedErrors::at_client(const ErrorKey& key) const {
  return clients_.count(word_of(key, errno_only_)) > 0;
}

void learn_errors(std::span<const CallData> runs, Profile& profile) {
  for (const CallData& run : runs) {
    for (const NodeCalls& server : run.servers) learn(server, kAtServer, profile);
    for (const NodeCalls& client : run.clients) learn(client, kAtClient, profile);
  }
}

std::vector<UnexpectedError> unexpected_errors(const CallData& data, const ExpectedErrors& expected) {
  std::map<ErrorKey, std::vector<size_t>> found;
  for (size_t i = 0; i < data.servers.size(); ++i)
    for (const auto& [key, count] : data.servers[i].errors)
      if (!means_not_now(key) && concerns_server(key) && !expected.at_server(key)) found[key].push_back(i);
  std::vector<UnexpectedError> out;
  for (auto& [key, servers] : found) out.push_back({key, std::move(servers)});
  return out;
}

}  // namespace culprit
