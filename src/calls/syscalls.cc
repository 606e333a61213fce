#include "calls/syscalls.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/text.h"

namespace culprit {

namespace {

using ByNumber = std::array<const Syscall*, kMostSyscalls>;

ByNumber index_by_number() {
  ByNumber index{};
  for (const Syscall& call : syscalls()) index.at(static_cast<size_t>(call.number)) = &call;
  return index;
}

std::unordered_map<std::string_view, const Syscall*> index_by_name() {
  std::unordered_map<std::string_view, const Syscall*> index;
  for (const Syscall& call : syscalls()) index.emplace(call.name, &call);
  return index;
}

// Index of the first argument of one of these kinds; -1.
int first_argument(int number, std::initializer_list<Arg> kinds) {
  const Syscall* call = find_syscall(number);
  if (!call) return -1;
  auto it = std::find_first_of(call->args.begin(), call->args.end(), kinds.begin(), kinds.end());
  return it == call->args.end() ? -1 : static_cast<int>(it - call->args.begin());
}

int64_t as_count(uint64_t value) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return value > kMost ? -1 : static_cast<int64_t>(value);
}

}  // namespace

const Syscall* find_syscall(int number) {
  static const ByNumber index = index_by_number();
  return number >= 0 && number < kMostSyscalls ? index[static_cast<size_t>(number)] : nullptr;
}

const Syscall* find_syscall(std::string_view name) {
  static const auto index = index_by_name();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::string syscall_name(int number) {
  const Syscall* call = find_syscall(number);
  return call ? std::string(call->name) : cat("syscall_", number);
}

int argument_count(int number) {
  const Syscall* call = find_syscall(number);
  if (!call) return static_cast<int>(Call{}.args.size());
  return static_cast<int>(std::find(call->args.begin(), call->args.end(), Arg::none) - call->args.begin());
}

int fd_argument(int number) {
  return first_argument(number, {Arg::fd, Arg::dirfd});
}

int second_fd_argument(int number) {
  const int first = fd_argument(number);
  const Syscall* call = find_syscall(number);
  if (first < 0 || !call) return -1;
  for (size_t i = static_cast<size_t>(first) + 1; i < call->args.size(); ++i)
    if (call->args[i] == Arg::fd || call->args[i] == Arg::dirfd) return static_cast<int>(i);
  return -1;
}

int path_argument(int number) {
  return first_argument(number, {Arg::path});
}

int folder_argument(int number) {
  int path = path_argument(number);
  return path > 0 && find_syscall(number)->args[static_cast<size_t>(path) - 1] == Arg::dirfd ? path - 1 : -1;
}

int vector_bytes_argument(int number) {
  if (first_argument(number, {Arg::vector}) < 0) return -1;
  return argument_count(number) == 6 ? 4 : 5;  // preadv2 and pwritev2 have their flags in the sixth
}

int64_t bytes_asked(const Call& call) {
  if (call.kind == CallKind::aio || call.kind == CallKind::uring) {
    constexpr int kAio[] = {0, 1, 7, 8};  // opcodes that move data: linux/aio_abi.h, linux/io_uring.h
    constexpr int kUring[] = {1, 2, 4, 5, 22, 23, 26, 27, 47, 49, 60, 61};
    auto moves = [&](const auto& list) {
      return std::find(std::begin(list), std::end(list), call.number) != std::end(list);
    };
    return (call.kind == CallKind::aio ? moves(kAio) : moves(kUring)) ? as_count(call.args[1]) : -1;
  }
  const Syscall* known = call.kind == CallKind::call ? find_syscall(call.number) : nullptr;
  if (!known || (known->transfer != Transfer::read && known->transfer != Transfer::write)) return -1;
  int at = vector_bytes_argument(call.number);
  if (at < 0) at = first_argument(call.number, {Arg::size});
  return at < 0 ? -1 : as_count(call.args[static_cast<size_t>(at)]);
}

bool never_returns(int number) {
  return number == 60 || number == 231;  // exit, exit_group
}

}  // namespace culprit
