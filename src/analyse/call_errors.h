// Which failed calls of servers and clients mean anything: what is "not now" or an answer to a question, what training
// has seen, and what that leaves. hotdep09_errors decides with it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyse/call_data.h"
#include "model/profile.h"

namespace culprit {

// "Not now": EAGAIN, EINTR, EINPROGRESS, restarts, and a time-out that the program asked for (ETIMEDOUT of a futex,
// ETIME of io_uring). No failure in any program.
bool means_not_now(const ErrorKey& key);
// The truthful answer to a question about a name, an attribute or a feature (ENOENT, EEXIST, ENODATA, ENOTTY, ...), or
// of one call to the question that it asks (lseek: ENXIO, readlink: EINVAL).
bool is_answer(const ErrorKey& key);
// Of a server: failures of its storage, memory, processes and descriptors. What fails on sockets is its clients' or the
// network's doing, unless it is the server's own resource that has run out (EMFILE at accept).
bool concerns_server(const ErrorKey& key);
std::string resource_of(int error);  // disk, descriptors, memory, limits; "" for an errno that tells of none

std::string pair_text(const ErrorKey& key);  // "openat:ENOENT"

// What training has seen: pairs at servers and pairs at clients.
class ExpectedErrors {
 public:
  ExpectedErrors() = default;
  ExpectedErrors(const Profile& profile, bool errno_only);
  bool at_server(const ErrorKey& key) const;
  bool at_client(const ErrorKey& key) const;

 private:
  std::set<std::string> servers_, clients_;  // "openat:ENOENT", or with errno_only "ENOENT"
  bool errno_only_ = false;
};

// Adds what is in these runs to the profile: metric "expected:openat:ENOENT" or "expected_at_client:...", server "*",
// name "count".
void learn_errors(std::span<const CallData> runs, Profile& profile);

// A pair that a server showed unexpectedly, and which of the servers did.
struct UnexpectedError {
  ErrorKey key;
  std::vector<size_t> servers;  // indices of CallData::servers
};
std::vector<UnexpectedError> unexpected_errors(const CallData& data, const ExpectedErrors& expected);

}  // namespace culprit
