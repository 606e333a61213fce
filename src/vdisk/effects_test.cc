#include "vdisk/effects.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(DiskEffects, EndByThemselvesAndCanBeProlonged) {
  DiskEffects effects;
  EXPECT_FALSE(effects.active(Effect::hang, 0));
  effects.set(Effect::hang, 10);
  EXPECT_TRUE(effects.active(Effect::hang, 9));
  EXPECT_EQ(effects.left_ns(Effect::hang, 4), 6);
  EXPECT_FALSE(effects.active(Effect::hang, 10));
  EXPECT_EQ(effects.left_ns(Effect::hang, 11), 0);
  effects.set(Effect::hang, 20);
  EXPECT_TRUE(effects.active(Effect::hang, 19));
}

TEST(DiskEffects, CoexistAndAreHealedOneByOne) {
  DiskEffects effects;
  effects.set(Effect::slow, 10);
  effects.set(Effect::fail, 10);
  effects.heal(Effect::slow);
  EXPECT_FALSE(effects.active(Effect::slow, 5));
  EXPECT_TRUE(effects.active(Effect::fail, 5));
  effects.heal(Effect::slow);
  EXPECT_TRUE(effects.fails(5));
}

TEST(DiskEffects, EveryNameIsFoundAgain) {
  for (Effect effect : kAllEffects) EXPECT_EQ(find_effect(effect_name(effect)), effect);
  EXPECT_FALSE(find_effect("slower"));
}

std::string draws(DiskEffects& effects, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += effects.fails(0) ? 'x' : '.';
  return text;
}

TEST(DiskEffects, FlakyFailsWithItsProbability) {
  for (double probability : {0.0, 0.1, 0.5, 1.0}) {
    DiskEffects effects;
    effects.set_flaky(probability, 7, 10, 0);
    std::string text = draws(effects, 10'000);
    double failed = static_cast<double>(std::count(text.begin(), text.end(), 'x')) / 10'000;
    EXPECT_NEAR(failed, probability, 0.02);
  }
}

TEST(DiskEffects, TheSeedRepeatsAndProlongingGoesOn) {
  DiskEffects once, prolonged, other;
  once.set_flaky(0.3, 7, 10, 0);
  std::string whole = draws(once, 200);
  prolonged.set_flaky(0.3, 7, 10, 0);
  std::string first = draws(prolonged, 100);
  prolonged.set_flaky(0.3, 7, 20, 0);
  EXPECT_EQ(first + draws(prolonged, 100), whole);
  other.set_flaky(0.3, 8, 10, 0);
  EXPECT_NE(draws(other, 200), whole);
}

TEST(DiskEffects, AFlakyDiskThatHealedFailsNoMore) {
  DiskEffects effects;
  effects.set_flaky(1, 1, 10, 0);
  EXPECT_TRUE(effects.fails(9));
  EXPECT_FALSE(effects.fails(10));
}

}  // namespace
}  // namespace culprit
