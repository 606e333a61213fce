// A lab that begins anew: its servers at rest, its clients as after a reboot, with no connection, window or cached page
// of an earlier run.
#include "base/text.h"
#include "base/units.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

constexpr int64_t kStepTime = 60 * kNsPerSecond;

// Innermost first; a mount that is still in use for a moment (a program that is just ending) is tried again.
constexpr std::string_view kUnmount = R"(
for try in $(seq 60); do
  left=$(awk '$2 == "/mnt/lab" || index($2, "/mnt/lab/") == 1 {print $2}' /proc/mounts | sort -r)
  test -z "$left" && exit 0
  for m in $left; do umount "$m" 2>/dev/null; done
  sleep 0.3
done
echo "still in use: $left" >&2
exit 1
)";

}  // namespace

Status lab_settle(const Lab& lab) {
  const LabFs* fs = find_lab_fs(lab.plan().fs);
  if (fs != nullptr && fs->heal != nullptr) RETURN_IF_ERROR(fs->heal(lab));
  return for_each_node(lab.servers(), [&](const LabNode& server) -> Status {
    if (auto done = lab.sh(server, "sync -f /mnt/disk", 2 * kStepTime); !done) return std::move(done).error();
    return Ok{};
  });
}

Status lab_remount(const Lab& lab) {
  const LabFs* fs = find_lab_fs(lab.plan().fs);
  if (fs == nullptr || fs->mount == nullptr)
    return unsupported_error(cat(lab.plan().fs, " cannot be mounted again in a lab"));
  return for_each_node(lab.clients(), [&](const LabNode& client) -> Status {
    if (auto done = lab.sh(client, std::string(kUnmount), kStepTime); !done) return std::move(done).error();
    return fs->mount(lab, client);
  });
}

}  // namespace culprit
