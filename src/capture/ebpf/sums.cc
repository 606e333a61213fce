#include "capture/ebpf/sums.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace culprit {

namespace {

static_assert(kSyscapStorage == static_cast<int>(FdClass::storage));
static_assert(kSyscapToClient == static_cast<int>(FdClass::to_client));
static_assert(kSyscapToServer == static_cast<int>(FdClass::to_server));
static_assert(kSyscapFuse == static_cast<int>(FdClass::fuse));

// Every key of a map. Keys are never deleted while we look, so that the walk does not begin again.
template <class Key>
std::vector<Key> keys_of(int map) {
  std::vector<Key> keys;
  Key key{};
  const Key* before = nullptr;
  constexpr size_t kMostKeys = 1 << 20;  // more than any of these maps holds
  while (keys.size() < kMostKeys && bpf_map_get_next_key(map, before, &key) == 0) {
    keys.push_back(key);
    before = &keys.back();
  }
  return keys;
}

void add_up(syscap_sum& total, const syscap_sum& part) {
  total.count += part.count;
  total.sum_ns += part.sum_ns;
  for (size_t i = 0; i < std::size(total.histogram); ++i) total.histogram[i] += part.histogram[i];
}

}  // namespace

void SumDeltas::add(const syscap_sum_key& key, const syscap_sum& total) {
  rows_[Key(key.node, key.fd_class, key.number)].now = total;
}

void SumDeltas::add_error(const syscap_error_key& key, uint64_t total) {
  rows_[Key(key.node, key.fd_class, key.number)].errors[static_cast<int>(key.error)] = total;
}

void SumDeltas::take(int64_t second, const std::function<void(size_t node, const CallSum& sum)>& fn) {
  for (auto& [key, row] : rows_) {
    const auto& [node, fd_class, number] = key;
    CallSum sum;
    sum.second = second;
    sum.fd_class = static_cast<FdClass>(std::min<int>(fd_class, kFdClasses - 1));
    sum.number = static_cast<int32_t>(number);
    sum.count = row.now.count - row.before.count;
    sum.sum_ns = row.now.sum_ns - row.before.sum_ns;
    for (size_t i = 0; i < sum.histogram.size(); ++i) sum.histogram[i] = row.now.histogram[i] - row.before.histogram[i];
    for (const auto& [error, total] : row.errors)
      if (uint64_t more = total - row.errors_before[error]; more != 0) sum.errors[error] = more;
    row.before = row.now;
    row.errors_before = row.errors;
    if (sum.count != 0 || !sum.errors.empty()) fn(node, sum);
  }
}

void read_sums(int sums_map, int errors_map, SumDeltas& deltas) {
  int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return;
  std::vector<syscap_sum> parts(static_cast<size_t>(cpus));
  for (const syscap_sum_key& key : keys_of<syscap_sum_key>(sums_map)) {
    if (bpf_map_lookup_elem(sums_map, &key, parts.data()) != 0) continue;
    syscap_sum total{};
    for (const syscap_sum& part : parts) add_up(total, part);
    deltas.add(key, total);
  }
  for (const syscap_error_key& key : keys_of<syscap_error_key>(errors_map)) {
    uint64_t total = 0;
    if (bpf_map_lookup_elem(errors_map, &key, &total) == 0) deltas.add_error(key, total);
  }
}

}  // namespace culprit
