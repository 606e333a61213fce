#include "capture/ebpf/call_config.h"

#include <array>

namespace culprit {

namespace {

struct Special {
  int number;
  uint8_t flags;
};
constexpr std::array kSpecial = {
    Special{3, kSyscapClose},         // close
    Special{436, kSyscapClose},       // close_range
    Special{42, kSyscapChangesFd},    // connect
    Special{49, kSyscapChangesFd},    // bind
    Special{50, kSyscapChangesFd},    // listen
    Special{72, kSyscapChangesFd},    // fcntl
    Special{209, kSyscapSubmitsAio},  // io_submit
    Special{208, kSyscapReapsAio},    // io_getevents
    Special{333, kSyscapReapsAio},    // io_pgetevents
};
constexpr int kSendmsg = 46;
constexpr int kRecvmsg = 47;
constexpr size_t kVectorAt = 1;  // the argument where the kernel side looks for it

void add_flag(syscap_call_info& info, int flag) {
  info.flags = static_cast<uint8_t>(info.flags | flag);
}

uint8_t index_or_none(int index) {
  return index < 0 ? uint8_t{kSyscapNoArg} : static_cast<uint8_t>(index);
}

void fill_vector(const Syscall& call, syscap_call_info& info) {
  int where = vector_bytes_argument(call.number);
  if (where < 0 || call.args[kVectorAt] != Arg::vector) return;
  bool message = call.number == kSendmsg || call.number == kRecvmsg;
  info.vector = static_cast<uint8_t>(message ? kSyscapMsghdr : kSyscapIovec);
  info.vector_bytes = static_cast<uint8_t>(where);
}

}  // namespace

void fill_call_config(const CallSet& wanted, syscap_config& config) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    syscap_call_info& info = config.calls[i];
    info = {};
    info.fd = info.second_fd = info.path = info.folder = kSyscapNoArg;
    if (wanted[i]) info.flags = kSyscapWanted;
    const Syscall* call = find_syscall(static_cast<int>(i));
    if (!call) continue;
    info.fd = index_or_none(fd_argument(call->number));
    info.second_fd = index_or_none(second_fd_argument(call->number));
    info.path = index_or_none(path_argument(call->number));
    info.folder = index_or_none(folder_argument(call->number));
    if (call->returns_fd) add_flag(info, kSyscapReturnsFd);
    fill_vector(*call, info);
  }
  for (const Special& special : kSpecial) add_flag(config.calls[special.number], special.flags);
}

}  // namespace culprit
