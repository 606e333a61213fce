#include "sample/collector.h"

#include "sample/daemons.h"
#include "sample/percent.h"

namespace culprit {

uint32_t KeyCounter::add(Sample& sample, const Source& source, std::string name, std::string detail) {
  constexpr size_t kMaxName = 4096;  // a stream's line holds 64 kB
  if (name.size() > kMaxName) name.resize(kMaxName);
  if (detail.size() > kMaxName) detail.resize(kMaxName);
  sample.keys.push_back({++last_, &source, percent_encode(name), percent_encode_keep_blanks(detail)});
  return last_;
}

std::shared_ptr<DaemonTable> daemon_table_of(const SampleEnv& env) {
  return env.daemon_table ? env.daemon_table : std::make_shared<DaemonTable>(env.root, env.daemons);
}

}  // namespace culprit
