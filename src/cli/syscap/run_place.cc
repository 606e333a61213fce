#include "cli/syscap/run_place.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "store/manifest.h"
#include "store/run_path.h"

namespace culprit {

namespace {

constexpr std::string_view kEndings[] = {".sclog", ".fdlog"};

// The folder is made at once, because logs of nodes behind ssh are opened before those of this machine.
Status make_log_folder(const std::string& stem) {
  std::filesystem::path folder = std::filesystem::path(stem).parent_path();
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  if (failed) return system_error(cat("cannot make ", folder.string()), failed.value());
  return Ok{};
}

Status refuse_logged(const RunPlace& place, const std::string& folder, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes)
    if (path_exists(place.stem(node) + ".sclog"))
      return input_error(cat(folder, " has system calls of ", node, " already"), "choose another name with --out");
  return Ok{};
}

}  // namespace

Result<RunPlace> RunPlace::open(const std::string& out, Manifest manifest, const std::vector<std::string>& nodes) {
  ASSIGN_OR_RETURN(RunPaths paths, run_paths(out));
  RunPlace place;
  place.out_ = out;
  if (!path_exists(paths.closed) && live_recorder(paths.partial)) {
    place.folder_ = paths.partial;
    RETURN_IF_ERROR(refuse_logged(place, paths.partial, nodes));
    auto theirs = read_manifest(paths.partial);
    for (const std::string& node : nodes)
      if (theirs && theirs->cluster.find(node) == nullptr)
        place.notes_.push_back(cat(node, " is no node of ", paths.partial, ": its calls are kept there all the same"));
  } else {
    ASSIGN_OR_RETURN(RunWriter writer, RunWriter::create(out, std::move(manifest)));
    place.folder_ = writer.path();
    place.writer_.emplace(std::move(writer));
  }
  Status made = make_log_folder(place.stem("any"));
  if (made) return place;
  if (!place.joined()) place.discard();
  return made.error();
}

// Of logs that were made and whose header could not be written there is something to take back, too.
Result<CallLogWriter> RunPlace::open_log(const std::string& node, LogHeader header) {
  bool theirs = std::any_of(std::begin(kEndings), std::end(kEndings),
                            [&](std::string_view ending) { return path_exists(cat(stem(node), ending)); });
  auto log = CallLogWriter::create(stem(node), std::move(header));
  if (log || (!theirs && log.error().errno_value != EEXIST)) claim(node);
  return log;
}

void RunPlace::tell(const std::string& text) {
  Event event{wall_now_ns(), "", "note", text};
  if (writer_) {
    static_cast<void>(writer_->add_event(event));
    static_cast<void>(writer_->commit());
  } else if (path_exists(folder_)) {
    static_cast<void>(append_event(folder_, event));
  }
}

Result<std::string> RunPlace::close() {
  if (writer_) return writer_->close();
  auto path = find_run(out_);
  return path ? *path : folder_;
}

void RunPlace::discard() {
  if (writer_) {
    writer_->discard();
    writer_.reset();
    return;
  }
  for (const std::string& node : claimed_)
    for (std::string_view ending : kEndings) ::unlink(cat(stem(node), ending).c_str());
  ::rmdir(std::filesystem::path(stem("any")).parent_path().c_str());  // stays when somebody else has logs in it
}

}  // namespace culprit
