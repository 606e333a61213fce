// The cluster file's parser. What it accepts must come back the same from its own text.
#include <cstdint>
#include <cstdlib>

#include "store/cluster_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto cluster = culprit::parse_cluster({reinterpret_cast<const char*>(data), size}, "cluster.toml");
  if (!cluster) return 0;
  std::string text = culprit::format_cluster(*cluster);
  auto again = culprit::parse_cluster(text, "again.toml");
  if (!again || culprit::format_cluster(*again) != text) std::abort();
  return 0;
}
