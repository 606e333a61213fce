#include "capture/ptrace/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstring>
#include <random>

namespace culprit {
namespace {

// What the kernel does with these rows; only the instructions that the filter uses.
uint32_t run(const std::vector<sock_filter>& rows, const seccomp_data& data) {
  uint32_t accumulator = 0;
  for (size_t at = 0; at < rows.size(); ++at) {
    const sock_filter& row = rows[at];
    bool taken = false;
    switch (row.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + row.k, sizeof accumulator);
        continue;
      case BPF_RET | BPF_K:
        return row.k;
      case BPF_JMP | BPF_K | BPF_JEQ:
        taken = accumulator == row.k;
        break;
      case BPF_JMP | BPF_K | BPF_JGE:
        taken = accumulator >= row.k;
        break;
      case BPF_JMP | BPF_K | BPF_JGT:
        taken = accumulator > row.k;
        break;
      default:
        ADD_FAILURE() << "instruction " << row.code;
        return 0;
    }
    at += taken ? row.jt : row.jf;
  }
  ADD_FAILURE() << "the filter has no end";
  return 0;
}

seccomp_data call(int number, uint32_t arch = AUDIT_ARCH_X86_64) {
  seccomp_data data{};
  data.nr = number;
  data.arch = arch;
  return data;
}

void expect_exactly(const CallSet& set) {
  std::vector<sock_filter> rows = make_filter(set);
  ASSERT_LE(rows.size(), 4096u);  // the kernel takes no more
  for (int number = 0; number < kMostSyscalls; ++number)
    ASSERT_EQ(run(rows, call(number)) == SECCOMP_RET_TRACE, set.test(static_cast<size_t>(number))) << number;
  EXPECT_EQ(run(rows, call(0x40000000 + 1)), SECCOMP_RET_ALLOW);  // x32
  EXPECT_EQ(run(rows, call(4, AUDIT_ARCH_I386)), SECCOMP_RET_TRACE);
}

TEST(SeccompFilterTest, StopsAtTheWantedCallsOnly) {
  CallSet ends;
  ends.set(0).set(1).set(kMostSyscalls - 1);
  CallSet every_other;
  for (size_t number = 0; number < kMostSyscalls; number += 2) every_other.set(number);
  for (const CallSet& set : {CallSet(), CallSet().set(), ends, every_other}) expect_exactly(set);
}

TEST(SeccompFilterTest, AnySet) {
  std::mt19937 random(4711);
  for (int turn = 0; turn < 20; ++turn) {
    CallSet set;
    for (size_t number = 0; number < kMostSyscalls; ++number) set.set(number, random() % 3 == 0);
    expect_exactly(set);
  }
}

}  // namespace
}  // namespace culprit
