#include "inject/diskfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/procfile.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/units.h"
#include "inject/preflight.h"
#include "inject/protect.h"
#include "inject/service.h"

namespace culprit {

namespace {

constexpr int64_t kUnmountTimeout = 20 * kNsPerSecond;  // what the daemons wrote last goes to a slow disk first
constexpr int64_t kMountTimeout = 120 * kNsPerSecond;   // it replays its journal
constexpr int64_t kCheckTimeout = 600 * kNsPerSecond;
constexpr int64_t kRetryEvery = 100 * kNsPerMs;
constexpr std::string_view kSharedDisks = "directory";  // a lab of that name has its disks mounted on all clients

// Words that the kernel adds when it gives a file system up; they are no options of mount(8).
constexpr std::array<std::string_view, 3> kDownWords = {"emergency_ro", "shutdown", "abort"};

std::vector<std::string> comma_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view word : split(text, ','))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

bool has_word(std::string_view list, std::string_view word) {
  std::vector<std::string_view> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Blanks and the like are \040 in the kernel's table.
std::string unescape_octal(std::string_view text) {
  std::string plain;
  auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// 36 35 98:0 /root /target rw,noatime shared:1 - ext3 /dev/sdb rw,errors=continue
bool parse_mount(std::string_view line, Mount& mount) {
  for (int skipped = 0; skipped < 3; ++skipped) next_word(line);
  mount.root = unescape_octal(next_word(line));
  mount.target = unescape_octal(next_word(line));
  mount.options = next_word(line);
  for (std::string_view word = next_word(line); word != "-"; word = next_word(line))
    if (word.empty()) return false;
  mount.type = next_word(line);
  mount.source = unescape_octal(next_word(line));
  mount.super_options = unescape_octal(next_word(line));
  return !mount.type.empty() && !mount.target.empty();
}

// "sdb1" of "/dev/sdb1" or of a link to it ("/dev/mapper/x" -> "dm-0").
std::string device_name(const std::string& source) {
  if (!source.starts_with("/dev/")) return "";
  char real[PATH_MAX];
  std::string path = ::realpath(source.c_str(), real) ? std::string(real) : source;
  return path.substr(path.rfind('/') + 1);
}

// Who keeps a file system busy: a process with a folder or file open below it.
std::string holders(const FaultWork& work, const std::string& target) {
  std::vector<std::string> names;
  auto below = [&](const std::string& link) {
    char path[PATH_MAX];
    ssize_t n = ::readlink(link.c_str(), path, sizeof path);
    std::string_view text(path, n < 0 ? 0 : static_cast<size_t>(n));
    return text == target || (text.starts_with(target) && text.substr(target.size()).starts_with('/'));
  };
  auto entries = [](const std::string& path) {
    std::vector<std::string> list;
    std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
      if (parse_int(entry->d_name)) list.emplace_back(entry->d_name);
    return list;
  };
  for (const std::string& pid : entries(work.proc)) {
    std::string folder = cat(work.proc, "/", pid);
    bool holds = below(folder + "/cwd") || below(folder + "/root") || below(folder + "/exe");
    for (const std::string& fd : holds ? std::vector<std::string>() : entries(folder + "/fd"))
      holds = holds || below(cat(folder, "/fd/", fd));
    auto comm = read_file(folder + "/comm");
    if (holds && names.size() < 5) names.push_back(cat(comm ? trim(*comm) : "", "/", pid));
  }
  return names.empty() ? "nobody that can be seen here; another mount namespace?" : join(names, ", ");
}

Result<Output> run_tool(const std::vector<std::string>& argv, int64_t timeout_ns) {
  ASSIGN_OR_RETURN(Output output, run_command(argv, timeout_ns));
  if (output.exit_code == 127) return unsupported_error(cat("cannot run ", argv[0], ": ", printable(trim(output.err))));
  return output;
}

Status run_mount(const Mount& mount) {
  std::vector<std::string> argv = {"mount", "-t", mount.type, "-o", mount_options(mount), mount.source, mount.target};
  ASSIGN_OR_RETURN(Output output, run_tool(argv, kMountTimeout));
  if (output.exit_code == 0) return Ok{};
  return unsupported_error(
      cat("cannot mount ", mount.source, " at ", mount.target, ": ", printable(trim(output.err), 200)));
}

Result<const Mount*> find_mount(const std::vector<Mount>& mounts, const Mount& wanted) {
  const Mount* found = nullptr;
  for (const Mount& mount : mounts)
    if (mount.target == wanted.target) found = &mount;  // the last one lies on top
  if (found && device_name(found->source) != device_name(wanted.source))
    return unsupported_error(cat(found->source, " is mounted at ", wanted.target, ", where ", wanted.source, " was"));
  return found;
}

}  // namespace

Result<std::vector<Mount>> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  std::string_view line;
  while (next_line(mountinfo, line)) {
    Mount mount;
    if (parse_mount(line, mount)) mounts.push_back(std::move(mount));
  }
  if (mounts.empty()) return input_error("the table of mounts is empty");
  return mounts;
}

Result<std::vector<Mount>> read_mounts(const std::string& proc) {
  ASSIGN_OR_RETURN(std::string text, read_file(proc + "/self/mountinfo"));
  return parse_mounts(text);
}

Result<std::vector<Mount>> chosen_mounts(const FaultWork& work) {
  std::string disk = chosen_disk(work.part);
  if (disk.empty())
    return unsupported_error(cat(work.part.node, " names no disks"), "name them in cluster.toml: disks = [\"sdb\"]");
  RETURN_IF_ERROR(check_not_protected(disk, work.proc, work.sys));
  std::string name = block_name(disk, work.sys);
  ASSIGN_OR_RETURN(std::vector<Mount> mounts, read_mounts(work.proc));
  std::vector<Mount> found;
  for (Mount& mount : mounts) {
    if (!mount.source.starts_with("/dev/")) continue;
    if (!devices_below(block_name(mount.source, work.sys), work.sys).contains(name)) continue;
    if (mount.target == "/") return unsupported_error(cat(disk, " is mounted at /"));  // whatever the tables above say
    bool other = !found.empty() && device_name(found[0].source) != device_name(mount.source);
    if (other)
      return unsupported_error(cat(disk, " holds several file systems that are mounted: ", found[0].source, " at ",
                                   found[0].target, ", ", mount.source, " at ", mount.target),
                               "name the one that is meant in cluster.toml: its partition or volume, not the disk");
    found.push_back(std::move(mount));
  }
  return found;
}

Result<Mount> chosen_mount(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Mount> mounts, chosen_mounts(work));
  if (mounts.empty())
    return unsupported_error(cat("no file system on ", chosen_disk(work.part), " is mounted on ", work.part.node),
                             "this fault acts on the local file system that holds the server's data");
  auto whole = std::find_if(mounts.begin(), mounts.end(), [](const Mount& mount) { return mount.root == "/"; });
  return whole == mounts.end() ? mounts[0] : *whole;
}

Status check_can_unmount(const FaultWork& work) {
  ASSIGN_OR_RETURN(std::vector<Mount> mounts, chosen_mounts(work));
  if (mounts.size() > 1)
    return unsupported_error(cat(mounts[0].source, " is mounted more than once: at ", mounts[0].target, " and ",
                                 mounts[1].target, "; the end of ", work.part.fault, " has to unmount it"),
                             "unmount all but one, bind mounts too");
  if (!mounts.empty() && work.part.fs == kSharedDisks)
    return unsupported_error(cat("the clients of a lab without a file system mount ", mounts[0].source,
                                 ", too; the end of ", work.part.fault, " has to unmount it"),
                             "a lab with a file system: culprit lab up --fs glusterfs");
  if (mounts.empty()) return Ok{};
  ASSIGN_OR_RETURN(std::vector<Mount> all, read_mounts(work.proc));
  for (const Mount& other : all)
    if (other.target.starts_with(mounts[0].target + "/"))
      return unsupported_error(cat(other.source, " is mounted at ", other.target, ", below ", mounts[0].target,
                                   ", which the end of ", work.part.fault, " has to unmount"),
                               "unmount it first");
  return Ok{};
}

bool is_ext(const Mount& mount) {
  return mount.type == "ext4" || mount.type == "ext3" || mount.type == "ext2";
}

namespace {

// When the file system's root was made, which tells two file systems apart whatever their devices are called; "" when
// it does not say.
std::string born(const std::string& target) {
  struct statx info {};
  if (::statx(AT_FDCWD, target.c_str(), 0, STATX_BTIME, &info) != 0 || !(info.stx_mask & STATX_BTIME)) return "";
  return cat(info.stx_btime.tv_sec, ".", info.stx_btime.tv_nsec);
}

}  // namespace

bool is_another_fs(const FaultWork& work, const Mount& mount) {
  auto noted = work.notes.find("mount_born");
  const std::string now = born(mount.target);
  return noted != work.notes.end() && !now.empty() && now != noted->second;
}

void note_mount(FaultWork& work, const Mount& mount) {
  if (std::string when = born(mount.target); !when.empty()) work.notes["mount_born"] = when;
  work.notes["mount"] = encode_words({mount.source, mount.target, mount.type, mount.options, mount.super_options});
}

bool has_noted_mount(const FaultWork& work) {
  return work.notes.contains("mount");
}

Result<Mount> noted_mount(const FaultWork& work) {
  auto found = work.notes.find("mount");
  if (found == work.notes.end()) return input_error("the journal has no note of the mount");
  ASSIGN_OR_RETURN(std::vector<std::string> words, decode_words(found->second));
  if (words.size() != 5 || words[1].empty()) return input_error("the journal's note of the mount is damaged");
  return Mount{words[0], words[1], words[2], words[3], words[4], "/"};
}

Result<FsState> look_at_fs(const FaultWork& work, const Mount& mount) {
  ASSIGN_OR_RETURN(std::vector<Mount> mounts, read_mounts(work.proc));
  ASSIGN_OR_RETURN(const Mount* now, find_mount(mounts, mount));
  if (!now) return FsState::unmounted;
  for (std::string_view word : kDownWords)
    if (has_word(now->super_options, word)) return FsState::down;
  if (has_word(mount.super_options, "rw") && has_word(now->super_options, "ro")) return FsState::down;  // before 6.14
  struct stat info {};
  if (::stat(mount.target.c_str(), &info) == 0) return FsState::fine;
  if (errno == EIO) return FsState::down;  // xfs answers nothing else once it is shut down
  return system_error(cat("cannot look at ", mount.target), errno);
}

Status sync_fs(const Mount& mount) {
  Fd root(::open(mount.target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid() || ::syncfs(root.get()) != 0) return system_error(cat("cannot sync ", mount.target), errno);
  return Ok{};
}

Status unmount_fs(const FaultWork& work, const Mount& mount) {
  int64_t end = monotonic_now_ns() + kUnmountTimeout;
  while (true) {
    ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
    if (state == FsState::unmounted) return Ok{};
    if (::umount2(mount.target.c_str(), UMOUNT_NOFOLLOW) == 0) return Ok{};
    if (errno != EBUSY) return system_error(cat("cannot unmount ", mount.target), errno);
    if (monotonic_now_ns() >= end)
      return system_error(cat("cannot unmount ", mount.target), EBUSY,
                          cat("it is in use by ", holders(work, mount.target)));
    timespec pause{0, kRetryEvery};
    ::nanosleep(&pause, nullptr);
  }
}

Status mount_fs(const FaultWork& work, const Mount& mount) {
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state != FsState::unmounted) return Ok{};
  Status mounted = run_mount(mount);
  if (mounted || mount.type != "xfs") return mounted;
  ASSIGN_OR_RETURN(Output repaired, run_tool({"xfs_repair", mount.source}, kCheckTimeout));
  if (repaired.exit_code != 0)
    return unsupported_error(cat("xfs_repair of ", mount.source, " ended with exit code ", repaired.exit_code, ": ",
                                 printable(trim(repaired.err), 200)),
                             "xfs_repair -L would drop its log and what is only there; decide that by hand");
  return run_mount(mount);
}

Status check_fs(const Mount& mount) {
  if (!is_ext(mount)) return Ok{};
  constexpr int kUncorrected = 4;  // of e2fsck's exit code; 1 and 2 say that it corrected something
  ASSIGN_OR_RETURN(Output first, run_tool({"e2fsck", "-p", mount.source}, kCheckTimeout));
  if (first.exit_code < kUncorrected) return Ok{};
  if (first.exit_code == kUncorrected) {
    ASSIGN_OR_RETURN(Output second, run_tool({"e2fsck", "-f", "-y", mount.source}, kCheckTimeout));
    if (second.exit_code < kUncorrected) return Ok{};
    first = std::move(second);
  }
  return unsupported_error(cat("e2fsck of ", mount.source, " ended with exit code ", first.exit_code, ": ",
                               printable(trim(first.err.empty() ? first.out : first.err), 200)));
}

Status bring_back(const FaultWork& work, Remount remount) {
  if (!has_noted_mount(work)) return Ok{};  // prepare did not come that far
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  if (state != FsState::fine || remount == Remount::always) {
    RETURN_IF_ERROR(stop_services(work));
    RETURN_IF_ERROR(unmount_fs(work, mount));
    RETURN_IF_ERROR(check_fs(mount));
    RETURN_IF_ERROR(mount_fs(work, mount));
  }
  return restart_services(work);
}

Result<bool> needs_bringing_back(const FaultWork& work) {
  if (!has_noted_mount(work)) return false;
  ASSIGN_OR_RETURN(Mount mount, noted_mount(work));
  ASSIGN_OR_RETURN(FsState state, look_at_fs(work, mount));
  ASSIGN_OR_RETURN(std::vector<Service> missing, missing_services(work));
  return state != FsState::fine || !missing.empty();
}

std::string mount_options(const Mount& mount) {
  std::vector<std::string> words;
  for (const std::string& list : {mount.options, mount.super_options}) {
    for (std::string& word : comma_words(list)) {
      bool known = std::find(words.begin(), words.end(), word) != words.end() ||
                   std::find(kDownWords.begin(), kDownWords.end(), word) != kDownWords.end();
      if (!known) words.push_back(std::move(word));
    }
  }
  return join(words, ",");
}

Status forget_device_cache(const std::string& device) {
  Fd fd(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(cat("cannot open ", device), errno);
  if (::ioctl(fd.get(), BLKFLSBUF, 0) != 0) return system_error(cat("cannot drop the cache of ", device), errno);
  return Ok{};
}

}  // namespace culprit
