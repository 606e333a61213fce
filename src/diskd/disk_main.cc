// culprit-disk: serves virtual disks. Reads as a list of steps: options, lock, namespace, mount, sockets, wait, leave.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "diskd/commands.h"
#include "diskd/control_server.h"
#include "diskd/fuse_server.h"
#include "vdisk/client.h"

namespace culprit {
namespace {

constexpr std::string_view kReady = "ready\n";

struct Options {
  std::string folder, socket, mount, ask;
  DiskModel model;
  bool hidden_mount = false;
  bool detach = false;
  bool help = false;
};

struct OptionRow {
  std::string_view name, value, help;
  Status (*take)(Options& options, std::string_view value);
};

template <std::string Options::*member>
Status take_text(Options& options, std::string_view value) {
  options.*member = value;
  return Ok{};
}

template <bool Options::*member>
Status take_switch(Options& options, std::string_view) {
  options.*member = true;
  return Ok{};
}

Status take_model(Options& options, std::string_view value) {
  ASSIGN_OR_RETURN(options.model, parse_disk_model(value));
  return Ok{};
}

constexpr OptionRow kOptions[] = {
    {"--folder", "DIR", "where the images are, NAME.img each; best on tmpfs", take_text<&Options::folder>},
    {"--socket", "PATH", "the control socket to make", take_text<&Options::socket>},
    {"--mount", "DIR", "where the disks appear, NAME.img each, for losetup", take_text<&Options::mount>},
    {"--model", "MODEL", "of disks that have none: a preset, or rate=15MB,seek=4ms", take_model},
    {"--private", "", "mount in a namespace of its own: attach /proc/PID/root/MOUNT/NAME.img",
     take_switch<&Options::hidden_mount>},
    {"--detach", "", "go to the background once ready", take_switch<&Options::detach>},
    {"--ask", "LINE", "ask the daemon on --socket this, for example \"counters s1\", and end",
     take_text<&Options::ask>},
    {"--help", "", "this text", take_switch<&Options::help>},
};

std::string help_text() {
  std::string text =
      "usage: culprit-disk --folder DIR --socket PATH --mount DIR [--model MODEL] [--private] [--detach]\n"
      "       culprit-disk --socket PATH --ask LINE\n"
      "Serves virtual disks. Prints \"ready\" once it does; ends at SIGTERM or when the socket says quit.\n\n";
  for (const OptionRow& row : kOptions) {
    std::string left = cat("  ", row.name, row.value.empty() ? "" : " ", row.value);
    left.resize(22, ' ');
    text += cat(left, row.help, "\n");
  }
  text += "\nmodels:\n";
  for (const DiskPreset& preset : disk_presets()) {
    std::string left = cat("  ", preset.name);
    left.resize(22, ' ');
    text += cat(left, preset.summary, "\n");
  }
  return text;
}

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const OptionRow* row = nullptr;
    for (const OptionRow& each : kOptions)
      if (each.name == words[i]) row = &each;
    if (!row) return usage_error(cat("there is no option ", printable(words[i])), "culprit-disk --help shows them");
    if (!row->value.empty() && ++i == words.size()) return usage_error(cat(row->name, " needs a value"));
    RETURN_IF_ERROR(row->take(options, words[i]));
  }
  if (!options.help && options.ask.empty() &&
      (options.folder.empty() || options.socket.empty() || options.mount.empty()))
    return usage_error("--folder, --socket and --mount must be there", "culprit-disk --help");
  return options;
}

// Our own namespace: nothing is left in the host's when we die. Mounts of others that came with it are let go where
// that cannot hurt us, or they would stay busy for as long as we live.
Status enter_private_namespace(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0) return system_error("cannot make a mount namespace", errno, "it needs root");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return system_error("cannot make the mounts private", errno);
  auto text = read_file("/proc/self/mountinfo");
  if (!text) return Ok{};
  for (std::string_view line : split(*text, '\n')) {
    auto words = split(line, ' ');
    size_t separator = line.find(" - ");
    if (words.size() < 5 || separator == std::string_view::npos) continue;
    auto kind = split(line.substr(separator + 3), ' ');
    bool foreign = kind.size() > 1 && (kind[0].starts_with("fuse") || kind[1].starts_with("/dev/loop"));
    std::string target(words[4]);
    if (foreign && target != "/" && !folder.starts_with(target)) ::umount2(target.c_str(), MNT_DETACH);
  }
  return Ok{};
}

// Waking up late is what the model suffers from: no timer slack, memory that stays, a place ahead of those that
// compute.
void prepare_process() {
  ::prctl(PR_SET_TIMERSLACK, 1);
  ::setpriority(PRIO_PROCESS, 0, -20);
  if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
    std::fprintf(stderr, "culprit-disk: memory is not locked: %s\n", std::strerror(errno));
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  return set;
}

// The parent of a detached daemon: waits for its word and passes it on.
int wait_for_ready(int pipe_end) {
  std::string text;
  char block[256];
  ssize_t n;
  while ((n = ::read(pipe_end, block, sizeof block)) > 0) text.append(block, static_cast<size_t>(n));
  std::fputs(text.c_str(), stdout);
  return text == kReady ? 0 : 1;
}

// Returns in the daemon with the descriptor that hears "ready"; ends the process in the parent.
int detach() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return STDOUT_FILENO;
  pid_t child = ::fork();
  if (child > 0) {
    ::close(ends[1]);
    std::exit(wait_for_ready(ends[0]));
  }
  ::close(ends[0]);
  ::setsid();
  return ends[1];
}

// A starter that went away meanwhile does not matter. In the background nobody listens to us any more.
void say_ready(int fd) {
  static_cast<void>(write_all(fd, kReady, "stdout"));
  if (fd == STDOUT_FILENO) return;
  Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), stream);
  ::close(fd);
}

Status serve(const Options& options, int ready_fd) {
  ASSIGN_OR_RETURN(ImageFolder folder, ImageFolder::open(options.folder));
  ASSIGN_OR_RETURN(ControlServer control, ControlServer::listen(options.socket));
  if (options.hidden_mount) RETURN_IF_ERROR(enter_private_namespace(folder.path()));
  prepare_process();
  sigset_t signals = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  Fd ending(::signalfd(-1, &signals, SFD_CLOEXEC));

  static FuseReplies replies;
  static DiskSet disks(std::move(folder), replies, options.model);
  RETURN_IF_ERROR(disks.load());
  ASSIGN_OR_RETURN(std::unique_ptr<FuseServer> fuse, FuseServer::start(disks, options.mount));
  auto end_process = [] { ::kill(::getpid(), SIGTERM); };
  DaemonInfo info{options.mount, options.hidden_mount, fuse->device(), end_process};
  control.start([&](std::string_view line) { return answer_disk_command(line, disks, info); });
  SmallThread receiver([&] {
    fuse->serve();
    end_process();  // somebody unmounted us
  });
  say_ready(ready_fd);

  signalfd_siginfo heard;
  while (::read(ending.get(), &heard, sizeof heard) < 0 && errno == EINTR) {
  }
  control.remove_socket();
  fuse->unmount();
  ::_exit(0);  // threads may sit in requests of a hung disk; the kernel ends those with us
}

Status ask(const Options& options) {
  ASSIGN_OR_RETURN(DiskClient client, DiskClient::connect(options.socket));
  ASSIGN_OR_RETURN(std::string answer, client.ask_text(options.ask));
  std::puts(answer.c_str());
  return Ok{};
}

Status do_it(const Options& options) {
  if (!options.ask.empty()) return ask(options);
  if (!options.help) return serve(options, options.detach ? detach() : STDOUT_FILENO);
  std::fputs(help_text().c_str(), stdout);
  return Ok{};
}

int run(const std::vector<std::string>& words) {
  auto options = parse_options(words);
  Status done = options ? do_it(*options) : Status(options.error());
  if (done) return 0;
  std::fprintf(stderr, "culprit-disk: %s\n", done.error().message().c_str());
  if (!done.error().hint.empty()) std::fprintf(stderr, "hint: %s\n", done.error().hint.c_str());
  return done.error().kind == ErrorKind::usage ? 2 : 1;
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  return culprit::run(std::vector<std::string>(argv + 1, argv + argc));
}
