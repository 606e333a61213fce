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
constexpr int kFirstRestart = 512;  // ERESTARTSYS and kin: the kernel's own, programs never see them

constexpr int kNotNow[] = {EAGAIN, EINTR, EINPROGRESS};
constexpr int kAnswers[] = {ENOENT, ENOTDIR, EISDIR, EEXIST, ENOTEMPTY,  ENODATA, ERANGE, ENAMETOOLONG,
                            ELOOP,  ESRCH,   ECHILD, ENOTTY, EOPNOTSUPP, ENOSYS,  ESPIPE, EXDEV};

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
  if (key.error >= kFirstRestart || holds(kNotNow, key.error)) return true;
  return key.error == ETIMEDOUT && key.call.starts_with("futex");
}

bool is_answer(int error) {
  return holds(kAnswers, error);
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
