#include "hosts/deploy.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMaxGreeting = 65536;  // more than this before the first answer is not a login greeting
constexpr size_t kKeptGreeting = 1024;  // enough to explain why no answer came
constexpr size_t kBlockBytes = 65536;   // as much as a pipe takes
constexpr std::string_view kAnswer = "culprit-deploy ";

// $1 machine, $2 file name, $3 size, then the sampler's arguments. Never writes over an existing file: a sampler that
// is running there keeps its own. head stops after $3 bytes, and nothing follows them until the sampler has answered.
// The login shell of the node sees it first, and that may be csh: no newline and no '!', which mean something there
// even between single quotes.
constexpr std::string_view kScript =
    R"sh(m=$(uname -m); )sh"
    R"sh(if [ "$m" = "$1" ]; then :; else echo "culprit-deploy machine $m"; exit 96; fi; )sh"
    R"sh(d="${XDG_CACHE_HOME:-$HOME/.cache}/culprit"; f="$d/$2"; t="$d/.$2.$$"; )sh"
    R"sh(if [ -x "$f" ] && [ "$(wc -c < "$f")" -eq "$3" ]; then :; else )sh"
    R"sh(umask 077; mkdir -p "$d" && : > "$t" || exit 97; echo "culprit-deploy send"; )sh"
    R"sh(if head -c "$3" > "$t" && [ "$(wc -c < "$t")" -eq "$3" ] && chmod 700 "$t" && mv -f "$t" "$f"; then :; )sh"
    R"sh(else rm -f "$t"; exit 97; fi; fi; )sh"
    R"sh(shift 3; echo "culprit-deploy run"; exec "$f" "$@")sh";

std::string own_folder() {
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  std::string_view text(path, n > 0 ? static_cast<size_t>(n) : 0);
  return std::string(text.substr(0, text.rfind('/') == std::string_view::npos ? 0 : text.rfind('/')));
}

}  // namespace

Result<std::string> Program::block(size_t offset) const {
  std::string bytes(std::min(kBlockBytes, size - std::min(size, offset)), '\0');
  ssize_t n = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (n < 0 || static_cast<size_t>(n) != bytes.size())
    return system_error(cat("cannot read ", path), n < 0 ? errno : 0);
  return bytes;
}

Result<Program> open_program(const std::string& path) {
  Program program;
  program.path = path;
  program.file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!program.file.valid() || ::fstat(program.file.get(), &info) != 0)
    return system_error(cat("cannot read ", path), errno);
  program.size = static_cast<size_t>(info.st_size);
  uint64_t hash = fnv1a64("");
  for (size_t done = 0; done < program.size;) {
    ASSIGN_OR_RETURN(std::string bytes, program.block(done));
    hash = fnv1a64(bytes, hash);
    done += bytes.size();
  }
  program.file_name = cat("culprit-node-", hash_name(hash));
  utsname names{};
  ::uname(&names);
  program.machine = names.machine;
  return program;
}

Result<Program> find_node_program(std::string exe_folder) {
  if (exe_folder.empty()) exe_folder = own_folder();
  for (const char* where : {"/culprit-node", "/../libexec/culprit/culprit-node", "/../libexec/culprit-node"})
    if (path_exists(exe_folder + where)) return open_program(exe_folder + where);
  return unsupported_error(cat("culprit-node is not beside culprit in ", exe_folder),
                           "it is built and installed with culprit; or name one that is on the node with `sampler = "
                           "...` in cluster.toml");
}

std::vector<std::string> deploy_command(const Program& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    std::string(kScript),
                                    "culprit-deploy",
                                    program.machine,
                                    program.file_name,
                                    std::to_string(program.size)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Result<DeployReader::State> DeployReader::read(std::string& bytes) {
  while (state_ != State::running) {
    size_t newline = bytes.find('\n');
    if (newline == std::string::npos) {
      if (bytes.size() > kMaxGreeting) return input_error("the node answers with something else than our script");
      return State::waiting;
    }
    std::string line = bytes.substr(0, newline);
    bytes.erase(0, newline + 1);
    size_t at = line.find(kAnswer);  // a greeting without a newline may stand before it
    if (at == std::string::npos) {
      if (skipped_.size() < kKeptGreeting) skipped_ += cat(line.substr(0, kKeptGreeting), "\n");
      continue;
    }
    std::string_view answer = trim(std::string_view(line).substr(at + kAnswer.size()));
    if (answer == "run") state_ = State::running;
    if (answer == "send") return State::send;
    if (answer.starts_with("machine "))
      return unsupported_error(
          cat("the node is ", printable(answer.substr(8), 30), ", this culprit-node is for ", machine_),
          "build culprit for that machine, put its culprit-node there and name it with `sampler = PATH` in "
          "cluster.toml");
  }
  return State::running;
}

Error explain_deploy(int exit_code, std::string_view err) {
  std::string said = printable(trim(err), 200);
  std::string because = said.empty() ? "" : cat(": ", said);
  if (exit_code == 97)
    return system_error(cat("cannot store the sampler on the node", because), 0,
                        "is the home folder there full or read-only? XDG_CACHE_HOME names another place");
  if (exit_code == 126)
    return system_error(
        cat("the node refuses to execute the sampler", because), 0,
        "is its home folder mounted noexec? Install culprit-node elsewhere and name it with `sampler = PATH`");
  if (exit_code == 127)
    return system_error(cat("the sampler is not on the node", because), 0, "check `sampler` in cluster.toml");
  if (exit_code == 0) return system_error("the sampler ended", 0);
  if (exit_code > 128) return system_error(cat("the sampler was killed by signal ", exit_code - 128, because), 0);
  return system_error(cat("the sampler ended with exit code ", exit_code, because), 0);
}

}  // namespace culprit
