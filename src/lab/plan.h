// What a lab is to be: numbers and models from the command line and a preset. Everything else follows from it, so it is
// also what `down` and `status` read of a lab that somebody else brought up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace culprit {

struct LabPlan {
  std::string name = "lab";
  std::string fs;
  int servers = 5;
  int clients = 2;
  std::string layout;           // one of the file system's; "" the first
  std::string preset = "calm";  // calm, wild
  std::string format = "xfs";   // of the servers' disks: xfs, ext4
  std::string disk;             // a model of culprit-disk; "" the preset's
  int64_t disk_bytes = 0;       // 0: 2 GiB, or what there is room for
  int64_t server_link = 0;      // bits per second each way; 0: the preset's
  int64_t client_link = 0;      // likewise; kUnshaped
  uint64_t seed = 1;
  std::string images = "/dev/shm";  // where the folder of the disks' images is made
  std::string cluster_file;         // where cluster.toml was written
};

constexpr int64_t kUnshaped = -1;

// One node of it. The names are all that cluster.toml, namespaces and disks need.
struct LabNode {
  std::string name;  // s1, c1, x1, m1
  NodeKind kind = NodeKind::other;
  std::string address;
  std::vector<std::string> roles;
  std::string ns;    // of its keeper: lab-s1
  std::string disk;  // of its virtual disk: lab-s1; "" has none
};

// Fills in what was left open, and says what cannot be.
Status complete_plan(LabPlan& plan);
// Bytes that images in this folder may take: what is left there, and in memory not more than most of what is available.
int64_t room_for_images(const std::string& folder);
// Servers, clients, the file system's own nodes (for example m1, its master), x1.
std::vector<LabNode> plan_nodes(const LabPlan& plan);
// A lab's name becomes part of the names of disks and namespaces: a to z and 0 to 9, a letter first, at most 12.
Status check_lab_name(std::string_view name);

std::string format_plan(const LabPlan& plan);
Result<LabPlan> parse_plan(std::string_view text);

}  // namespace culprit
