// How a node is reached, as cluster.toml says it: local, ns:NAME, ssh:USER@HOST[:PORT]. What the file may say and what
// the recorder can use are one grammar.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit {

enum class ReachKind { local, ns, ssh };

struct Reach {
  ReachKind kind = ReachKind::local;
  std::string ns;    // a lab's node, or a name in /run/netns
  std::string user;  // "": ssh decides
  std::string host;  // name or address; an IPv6 address is without its brackets here
  int port = 0;      // 0: ssh decides
};

Result<Reach> parse_reach(std::string_view text);

}  // namespace culprit
