#include "cli/record/disk_under.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <set>

#include "base/fd.h"
#include "base/procfile.h"
#include "base/text.h"

namespace culprit {

namespace {

namespace fs = std::filesystem;
constexpr int kMaxDepth = 8;  // of stacked devices and files on them: more is a loop

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool octal = text[i] == '\\' && i + 3 < text.size() &&
                 text.substr(i + 1, 3).find_first_not_of("01234567") == std::string_view::npos;
    if (!octal) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

struct Mount {
  std::string device;  // "8:1"; "0:42" when the file system has no device of its own
  std::string point;
  std::string type;
  std::string source;
  std::string options;
};

bool parse_mount(std::string_view line, Mount& mount) {
  size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return false;
  std::string_view head = line.substr(0, dash);
  std::string_view tail = line.substr(dash + 3);
  next_word(head);
  next_word(head);
  mount.device = next_word(head);
  next_word(head);
  mount.point = unescape(next_word(head));
  mount.type = next_word(tail);
  mount.source = unescape(next_word(tail));
  mount.options = next_word(tail);
  return !mount.point.empty();
}

bool lies_under(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// The mount that holds `path`: the longest mount point above it, the last one of equals (it covers the others).
bool find_mount(const std::string& root, const std::string& path, Mount& best) {
  auto text = read_file(root + "/proc/self/mountinfo");
  if (!text) return false;
  std::string_view rest = *text, line;
  bool found = false;
  while (next_line(rest, line)) {
    Mount mount;
    if (!parse_mount(line, mount) || !lies_under(path, mount.point)) continue;
    if (found && mount.point.size() < best.point.size()) continue;
    best = std::move(mount);
    found = true;
  }
  return found;
}

class Resolver {
 public:
  explicit Resolver(const std::string& root) : root_(root) {}

  void add_path(const std::string& path, int depth) {
    Mount mount;
    if (depth > kMaxDepth || !find_mount(root_, path, mount)) return;
    if (mount.type == "overlay") return add_upper(mount, depth);
    if (!mount.device.starts_with("0:")) return add_device(mount.device, depth);
    if (mount.source.starts_with("/dev/")) add_name(device_name(mount.source), depth);  // btrfs and kin
  }

  void add_device(const std::string& major_minor, int depth) {
    add_folder(cat(root_, "/sys/dev/block/", major_minor), depth);
  }

  std::set<std::string> names;

 private:
  void add_upper(const Mount& mount, int depth) {
    for (std::string_view option : split(mount.options, ','))
      if (option.starts_with("upperdir=")) add_path(unescape(option.substr(9)), depth + 1);
  }

  // /dev/mapper/x is a link to /dev/dm-3.
  std::string device_name(const std::string& source) const {
    std::error_code error;
    fs::path real = fs::canonical(root_ + source, error);
    return error ? fs::path(source).filename().string() : real.filename().string();
  }

  void add_name(const std::string& name, int depth) { add_folder(cat(root_, "/sys/class/block/", name), depth); }

  void add_folder(const std::string& folder, int depth) {
    std::error_code error;
    fs::path real = fs::canonical(folder, error);
    if (error || depth > kMaxDepth) return;
    if (fs::exists(real / "partition", error)) real = real.parent_path();
    if (!names.insert(real.filename().string()).second) return;
    for (fs::directory_iterator slave(real / "slaves", error), end; !error && slave != end; slave.increment(error))
      add_name(slave->path().filename().string(), depth + 1);
    if (auto file = read_file((real / "loop" / "backing_file").string())) add_path(std::string(trim(*file)), depth + 1);
  }

  std::string root_;
};

std::vector<std::string> sorted(const Resolver& resolver) {
  return {resolver.names.begin(), resolver.names.end()};
}

}  // namespace

std::vector<std::string> disks_of_device(const std::string& root, const std::string& major_minor) {
  Resolver resolver(root);
  resolver.add_device(major_minor, 0);
  return sorted(resolver);
}

std::vector<std::string> disks_under(const std::string& root, const std::string& path) {
  struct stat info {};
  if (root.empty() && ::stat(path.c_str(), &info) == 0 && major(info.st_dev) != 0)
    return disks_of_device(root, cat(major(info.st_dev), ":", minor(info.st_dev)));
  Resolver resolver(root);
  resolver.add_path(path, 0);
  return sorted(resolver);
}

std::string existing_folder(const std::string& path) {
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  while (at.has_relative_path() && !fs::is_directory(at, error)) at = at.parent_path();
  fs::path real = fs::canonical(at, error);
  return error ? "/" : real.string();
}

}  // namespace culprit
