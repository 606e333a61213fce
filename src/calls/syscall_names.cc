// Names of errors, signals, flags and commands, as strace writes them. Tables of x86_64, not the machine's own headers:
// a log may be read elsewhere than it was made.
#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "calls/syscalls.h"

namespace culprit {

namespace {

struct Name {
  uint32_t value;
  std::string_view name;
};

// Words in the order of their numbers, from 0; "-" where a number has no name.
constexpr std::string_view kErrors =
    "- EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY "
    "EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK "
    "EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT "
    "EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME "
    "ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ "
    "EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK "
    "EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT "
    "EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN "
    "ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE "
    "EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED "
    "EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON";

// What a tracer sees of a call that a signal interrupts, and what should not leave the kernel but has been seen to.
constexpr Name kKernelErrors[] = {
    {512, "ERESTARTSYS"},
    {513, "ERESTARTNOINTR"},
    {514, "ERESTARTNOHAND"},
    {515, "ENOIOCTLCMD"},
    {516, "ERESTART_RESTARTBLOCK"},
    {517, "EPROBE_DEFER"},
    {518, "EOPENSTALE"},
    {519, "ENOPARAM"},
    {521, "EBADHANDLE"},
    {522, "ENOTSYNC"},
    {523, "EBADCOOKIE"},
    {524, "ENOTSUPP"},
    {525, "ETOOSMALL"},
    {526, "ESERVERFAULT"},
    {527, "EBADTYPE"},
    {528, "EJUKEBOX"},
    {529, "EIOCBQUEUED"},
    {530, "ERECALLCONFLICT"},
};

constexpr Name kErrorAliases[] = {{11, "EWOULDBLOCK"}, {35, "EDEADLOCK"}, {95, "ENOTSUP"}};

constexpr std::string_view kSignals =
    "- SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE SIGALRM "
    "SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ SIGVTALRM SIGPROF "
    "SIGWINCH SIGIO SIGPWR SIGSYS SIGRTMIN";
constexpr int kFirstRealTime = 32;  // as the kernel counts; libc keeps the first two for itself
constexpr int kLastRealTime = 64;

constexpr Name kSignalAliases[] = {{6, "SIGIOT"}, {17, "SIGCLD"}, {29, "SIGPOLL"}, {31, "SIGUNUSED"}};

// Those that contain others come first.
constexpr Name kOpenFlags[] = {
    {020200000, "O_TMPFILE"}, {04010000, "O_SYNC"},    {0100, "O_CREAT"},       {0200, "O_EXCL"},
    {0400, "O_NOCTTY"},       {01000, "O_TRUNC"},      {02000, "O_APPEND"},     {04000, "O_NONBLOCK"},
    {010000, "O_DSYNC"},      {020000, "FASYNC"},      {040000, "O_DIRECT"},    {0100000, "O_LARGEFILE"},
    {0200000, "O_DIRECTORY"}, {0400000, "O_NOFOLLOW"}, {01000000, "O_NOATIME"}, {02000000, "O_CLOEXEC"},
    {010000000, "O_PATH"},
};
constexpr Name kAccess[] = {{0, "O_RDONLY"}, {1, "O_WRONLY"}, {2, "O_RDWR"}, {3, "O_ACCMODE"}};
constexpr uint64_t kAccessMask = 3;

constexpr Name kFcntlCommands[] = {
    {0, "F_DUPFD"},
    {1, "F_GETFD"},
    {2, "F_SETFD"},
    {3, "F_GETFL"},
    {4, "F_SETFL"},
    {5, "F_GETLK"},
    {6, "F_SETLK"},
    {7, "F_SETLKW"},
    {8, "F_SETOWN"},
    {9, "F_GETOWN"},
    {10, "F_SETSIG"},
    {11, "F_GETSIG"},
    {15, "F_SETOWN_EX"},
    {16, "F_GETOWN_EX"},
    {17, "F_GETOWNER_UIDS"},
    {36, "F_OFD_GETLK"},
    {37, "F_OFD_SETLK"},
    {38, "F_OFD_SETLKW"},
    {1024, "F_SETLEASE"},
    {1025, "F_GETLEASE"},
    {1026, "F_NOTIFY"},
    {1027, "F_DUPFD_QUERY"},
    {1028, "F_CREATED_QUERY"},
    {1029, "F_CANCELLK"},
    {1030, "F_DUPFD_CLOEXEC"},
    {1031, "F_SETPIPE_SZ"},
    {1032, "F_GETPIPE_SZ"},
    {1033, "F_ADD_SEALS"},
    {1034, "F_GET_SEALS"},
    {1035, "F_GET_RW_HINT"},
    {1036, "F_SET_RW_HINT"},
    {1037, "F_GET_FILE_RW_HINT"},
    {1038, "F_SET_FILE_RW_HINT"},
};

constexpr Name kMessageFlags[] = {
    {0x1, "MSG_OOB"},
    {0x2, "MSG_PEEK"},
    {0x4, "MSG_DONTROUTE"},
    {0x8, "MSG_CTRUNC"},
    {0x20, "MSG_TRUNC"},
    {0x40, "MSG_DONTWAIT"},
    {0x80, "MSG_EOR"},
    {0x100, "MSG_WAITALL"},
    {0x200, "MSG_FIN"},
    {0x400, "MSG_SYN"},
    {0x800, "MSG_CONFIRM"},
    {0x1000, "MSG_RST"},
    {0x2000, "MSG_ERRQUEUE"},
    {0x4000, "MSG_NOSIGNAL"},
    {0x8000, "MSG_MORE"},
    {0x10000, "MSG_WAITFORONE"},
    {0x40000, "MSG_BATCH"},
    {0x4000000, "MSG_ZEROCOPY"},
    {0x20000000, "MSG_FASTOPEN"},
    {0x40000000, "MSG_CMSG_CLOEXEC"},
};

constexpr std::string_view kAioRequests = "pread pwrite fsync fdsync - poll noop preadv pwritev";

constexpr std::string_view kUringRequests =
    "nop readv writev fsync read_fixed write_fixed poll_add poll_remove sync_file_range sendmsg recvmsg timeout "
    "timeout_remove accept async_cancel link_timeout connect fallocate openat close files_update statx read write "
    "fadvise madvise send recv openat2 epoll_ctl splice provide_buffers remove_buffers tee shutdown renameat "
    "unlinkat mkdirat symlinkat linkat msg_ring fsetxattr setxattr fgetxattr getxattr socket uring_cmd send_zc "
    "sendmsg_zc read_multishot waitid futex_wait futex_wake futex_waitv fixed_fd_install ftruncate bind listen "
    "recv_zc epoll_wait readv_fixed writev_fixed pipe";

int find_name(std::span<const Name> names, std::string_view name) {
  auto it = std::find_if(names.begin(), names.end(), [&](const Name& one) { return one.name == name; });
  return it == names.end() ? 0 : static_cast<int>(it->value);
}

// Of bits without a name, "0x400"; 0 when it is no such number.
uint64_t bits_of(std::string_view text) {
  uint64_t bits = 0;
  if (text.starts_with("0x")) std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return bits;
}

using Words = std::vector<std::string_view>;

const Words& errors() {
  static const Words words = split(kErrors, ' ');
  return words;
}

const Words& signals() {
  static const Words words = split(kSignals, ' ');
  return words;
}

const Words& requests(CallKind kind) {
  static const Words aio = split(kAioRequests, ' ');
  static const Words uring = split(kUringRequests, ' ');
  return kind == CallKind::aio ? aio : uring;
}

// The word of a number; "" when it has none.
std::string_view word_at(const Words& words, int number) {
  size_t at = static_cast<size_t>(number);
  return number >= 0 && at < words.size() && words[at] != "-" ? words[at] : "";
}

// The number of a word; 0 when it is not there.
int place_of(const Words& words, std::string_view word) {
  if (word == "-") return 0;
  auto it = std::find(words.begin(), words.end(), word);
  return it == words.end() ? 0 : static_cast<int>(it - words.begin());
}

}  // namespace

std::string errno_name(int errno_value) {
  if (std::string_view word = word_at(errors(), errno_value); !word.empty()) return std::string(word);
  for (const Name& one : kKernelErrors)
    if (static_cast<int>(one.value) == errno_value) return std::string(one.name);
  return cat("errno ", errno_value);
}

int errno_number(std::string_view name) {
  if (int number = place_of(errors(), name)) return number;
  if (int number = find_name(kKernelErrors, name)) return number;
  return find_name(kErrorAliases, name);
}

std::string signal_name(int number) {
  if (std::string_view word = word_at(signals(), number); !word.empty()) return std::string(word);
  if (number > kFirstRealTime && number <= kLastRealTime) return cat("SIGRT_", number - kFirstRealTime);
  return cat("signal ", number);
}

int signal_number(std::string_view name) {
  if (int number = place_of(signals(), name)) return number;
  if (int number = find_name(kSignalAliases, name)) return number;
  constexpr std::string_view kRealTime = "SIGRT_";
  if (!name.starts_with(kRealTime)) return 0;
  auto above = parse_int(name.substr(kRealTime.size()));
  return above && *above > 0 && *above <= kLastRealTime - kFirstRealTime ? kFirstRealTime + static_cast<int>(*above)
                                                                         : 0;
}

std::string open_flags_text(uint64_t flags) {
  std::string text(kAccess[flags & kAccessMask].name);
  flags &= ~kAccessMask;
  for (const Name& flag : kOpenFlags) {
    if ((flags & flag.value) != flag.value) continue;
    text += cat("|", flag.name);
    flags &= ~uint64_t{flag.value};
  }
  return flags == 0 ? text : cat(text, "|", hex_number(flags));
}

std::string request_name(CallKind kind, int opcode) {
  std::string_view word = word_at(requests(kind), opcode);
  return word.empty() ? cat("opcode ", opcode) : std::string(word);
}

std::string hex_number(uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + digits;
}

uint64_t parse_open_flags(std::string_view text) {
  uint64_t flags = 0;
  for (std::string_view name : split(text, '|')) {
    flags |= static_cast<uint64_t>(find_name(kAccess, name));
    flags |= static_cast<uint64_t>(find_name(kOpenFlags, name));
    flags |= bits_of(name);
  }
  return flags;
}

uint64_t parse_message_flags(std::string_view text) {
  uint64_t flags = 0;
  for (std::string_view name : split(text, '|'))
    flags |= static_cast<uint64_t>(find_name(kMessageFlags, name)) | bits_of(name);
  return flags;
}

uint64_t fcntl_command(std::string_view name) {
  for (const Name& one : kFcntlCommands)
    if (one.name == name) return one.value;
  return kNoFcntlCommand;
}

}  // namespace culprit
