#include "store/run_keys.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "model/source.h"

namespace culprit {

namespace {

constexpr int64_t kForgetAfter = 64;  // samples: the kernel may leave a socket out of a list that changes under it
constexpr size_t kManyKeys = 1024;    // fewer are not worth the look
constexpr size_t kFarMore = 4;        // keys per row

}  // namespace

bool is_socket_source(std::string_view source) {
  return source == source_tcp.name;
}

uint32_t KeyLimit::next(bool socket) {
  CHECK(!is_full(socket)) << last_ << " keys";
  if (socket) ++sockets_;
  return ++last_;
}

std::string KeyLimit::text(bool socket) const {
  if (socket && last_ < most_)
    return cat("a run can have at most ", most_sockets_, " sockets; later ones are left out");
  return cat("a run can have at most ", most_, " devices, sockets and daemons; later ones are left out");
}

const RunKey* NodeKeys::find(uint32_t number, int64_t sample) {
  auto found = keys_.find(number);
  if (found == keys_.end()) return nullptr;
  found->second.seen = sample;
  return &found->second;
}

void NodeKeys::reset() {
  // Sockets that did not come back after the last time are gone.
  std::erase_if(former_, [](const auto& entry) { return entry.second.socket; });
  for (auto& [number, key] : keys_) former_.insert_or_assign(std::move(key.identity), Former{key.id, key.socket});
  keys_.clear();
  forgotten_ = false;
}

uint32_t NodeKeys::take_former(const std::string& identity) {
  auto found = former_.find(identity);
  if (found == former_.end()) return 0;
  const uint32_t id = found->second.id;
  former_.erase(found);
  return id;
}

void NodeKeys::tidy(int64_t sample, size_t rows) {
  if (sample % kForgetAfter != 0 || keys_.size() < kManyKeys + kFarMore * rows) return;
  auto is_gone = [&](const auto& entry) { return entry.second.socket && sample - entry.second.seen > kForgetAfter; };
  if (std::erase_if(keys_, is_gone) > 0) forgotten_ = true;
}

}  // namespace culprit
