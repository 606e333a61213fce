// The null member: no parallel file system at all. Each client mounts every server's disk itself, side by side.
#include "base/text.h"
#include "base/units.h"
#include "lab/disks.h"
#include "lab/lab.h"
#include "lab/lab_fs.h"

namespace culprit {

namespace {

Status mount_client(const Lab& lab, const LabNode& client) {
  std::string script = "set -e\n";
  for (const LabNode* server : lab.servers()) {
    for (const auto& [disk, device] : attached_loops(lab))
      if (disk == server->disk)
        script += cat("mkdir -p /mnt/lab/", server->name, "\nmount -t ", lab.plan().format, " -o noatime /dev/", device,
                      " /mnt/lab/", server->name, "\n");
  }
  auto done = lab.sh(client, script, 20 * kNsPerSecond);
  if (!done) return std::move(done).error();
  return Ok{};
}

Status start(const Lab& lab) {
  return for_each_node(lab.clients(), [&](const LabNode& client) { return mount_client(lab, client); });
}

}  // namespace

extern const LabFs lab_directory;
const LabFs lab_directory = {
    .name = "directory",
    .summary = "no file system: the servers' disks, mounted side by side on the clients",
    .start = start,
    .mount = mount_client,
};

}  // namespace culprit
