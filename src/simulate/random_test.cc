#include "simulate/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace culprit {
namespace {

TEST(Random, SameSeedSameNumbersOtherStreamOthers) {
  Random a(7, 1), b(7, 1), c(7, 2), d(8, 1);
  const uint64_t first = a.bits();
  EXPECT_EQ(first, b.bits());
  EXPECT_NE(first, c.bits());
  EXPECT_NE(first, d.bits());
}

// Pinned: a change here changes every shipped example.
TEST(Random, FirstNumbersArePinned) {
  Random random(1, 0);
  EXPECT_EQ(random.bits(), 17154914556750032435u);
}

TEST(Random, NormalAndPoissonHaveTheirMeanAndDeviation) {
  Random random(3, 0);
  const int n = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double z = random.normal();
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / n, 0, 0.03);
  EXPECT_NEAR(squares / n, 1, 0.05);
  for (double mean : {0.2, 5.0, 200.0}) {
    double total = 0;
    for (int i = 0; i < n; ++i) total += static_cast<double>(random.poisson(mean));
    EXPECT_NEAR(total / n, mean, 5 * std::sqrt(mean / n)) << mean;
  }
  EXPECT_EQ(random.poisson(0), 0);
}

TEST(Random, BetweenReachesBothEndsAndNothingElse) {
  Random random(4, 0);
  std::vector<int> seen(3);
  for (int i = 0; i < 1000; ++i) ++seen.at(static_cast<size_t>(random.between(0, 2)));
  for (int count : seen) EXPECT_GT(count, 200);
}

TEST(Random, PoissonTakesTheSameAmountWhateverTheMean) {
  Random a(5, 0), b(5, 0);
  a.poisson(0);
  b.poisson(1000);
  EXPECT_EQ(a.bits(), b.bits());
}

TEST(Wander, StaysAroundOneAndRemembers) {
  Random random(6, 0);
  Wander wander(0.1, 0.8);
  double sum = 0, product = 0, squares = 0, last = wander.next(random);
  const int n = 50000;
  for (int i = 0; i < n; ++i) {
    const double value = wander.next(random);
    EXPECT_GT(value, 0);
    sum += value;
    product += (value - 1) * (last - 1);
    squares += (value - 1) * (value - 1);
    last = value;
  }
  EXPECT_NEAR(sum / n, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 0.1, 0.01);
  EXPECT_NEAR(product / squares, 0.8, 0.05);
}

TEST(Carry, LosesNothing) {
  Carry carry;
  int64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum += carry.whole(0.3);
  EXPECT_NEAR(static_cast<double>(sum), 300, 1);
}

}  // namespace
}  // namespace culprit
