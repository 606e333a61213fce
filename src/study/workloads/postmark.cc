// PostMark (FAST'10, 8.1): many small files are made, read, appended to and deleted; mostly metadata. Debian's package,
// the paper's configuration (500 files of 500 to 9,770 bytes).
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

constexpr int kFixedTransactions = 400;
constexpr int kManyTransactions = 1'000'000;  // more than any run lasts

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  return cat("postmark <<END >/dev/null\nset location ", stage.scratch_folder(client),
             "\nset number 500\nset transactions ", seconds == 0 ? kFixedTransactions : kManyTransactions,
             "\nset seed ", 42 + client, "\nrun\nquit\nEND\n");
}

}  // namespace

extern const Workload workload_postmark;
const Workload workload_postmark = {
    .name = "postmark",
    .summary = "PostMark: many small files, mostly metadata",
    .program = "postmark",
    .package = "postmark",
    .script = script,
};

}  // namespace culprit
