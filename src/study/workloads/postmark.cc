// PostMark (FAST'10, 8.1): many small files are made, read, appended to and deleted; mostly metadata. Debian's package,
// the paper's configuration (500 files of 500 to 9,770 bytes).
#include "base/text.h"
#include "study/stage.h"
#include "study/workload.h"

namespace culprit {

namespace {

constexpr int kFixedTransactions = 400;
constexpr int kManyTransactions = 1'000'000;  // more than any run lasts

// PostMark takes all the CPU it can get. Where one machine carries all nodes that leaves none for anybody, so there it
// runs for 40 ms and is stopped for 60 ms, again and again.
constexpr std::string_view kPaced = R"(
while kill -0 $p 2>/dev/null; do
  sleep 0.04; kill -STOP $p 2>/dev/null; sleep 0.06; kill -CONT $p 2>/dev/null
done
)";

std::string script(const Stage& stage, size_t client, int64_t seconds) {
  bool paced = seconds != 0 && stage.one_machine();
  return cat("postmark <<END >/dev/null &\nset location ", stage.scratch_folder(client),
             "\nset number 500\nset transactions ", seconds == 0 ? kFixedTransactions : kManyTransactions,
             "\nset seed ", 42 + client, "\nrun\nquit\nEND\np=$!\n", paced ? kPaced : "", "wait $p\n");
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
