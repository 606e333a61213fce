// Which recordings are running: one small file each, named by the recorder's process number, holding the run's path
// and locked while the recorder lives. So `culprit mark` finds the run, and a file left by a kill -9 is seen to be
// stale.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace culprit {

// Where this user's recorders register: CULPRIT_RUNTIME_DIR, or /run/culprit for root, $XDG_RUNTIME_DIR/culprit, or
// /tmp/culprit-UID (made with mode 0700; refused when somebody else made it).
std::string registry_folder();
// All folders in which recordings that we may mark can be registered.
std::vector<std::string> registry_folders();

// This recorder's entry; removed when the object dies.
class Registration {
 public:
  static Result<Registration> enter(const std::string& folder, const std::string& run_path);
  Registration(Registration&&) noexcept;
  Registration& operator=(Registration&&) = delete;
  ~Registration();

 private:
  Registration() = default;
  std::string path_;
  Fd lock_;
};

struct RunningRecording {
  int pid = 0;
  std::string run_path;
};

// The live ones, by process number. Stale files are removed on the way.
std::vector<RunningRecording> running_recordings(const std::vector<std::string>& folders);

}  // namespace culprit
