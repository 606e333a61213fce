// What campaigns read: plan, journal and rows. What the journal's and the rows' parsers accept comes back the same.
#include <cstdint>
#include <cstdlib>

#include "study/campaign_folder.h"
#include "study/campaign_plan.h"
#include "study/row.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 0) {
    if (auto plan = culprit::parse_campaign_plan(text, "plan.toml")) {
      if (plan->train_runs < 50 && plan->iterations < 50 && plan->control_runs < 50 && plan->overhead_pairs < 50)
        culprit::plan_experiments(*plan, {"s1", "s2", "s3"});
    }
  } else if (data[0] % 3 == 1) {
    auto attempt = culprit::parse_attempt(text);
    if (!attempt) return 0;
    const std::string line = culprit::format_attempt(*attempt);
    auto again = culprit::parse_attempt(line);
    if (!again || culprit::format_attempt(*again) != line) std::abort();
  } else if (auto rows = culprit::parse_rows(text, "rows.jsonl")) {
    const std::string written = culprit::format_rows(*rows);
    auto again = culprit::parse_rows(written, "again.jsonl");
    if (!again || culprit::format_rows(*again) != written) std::abort();
  }
  return 0;
}
