// Whole trees of two machines, and what a sampler must say about them to the byte; then the same trees, damaged.
#include <gtest/gtest.h>

#include <random>

#include "base/fd.h"
#include "base/text.h"
#include "sample/sampler.h"
#include "sample/stream.h"
#include "sample/test_tree.h"

namespace culprit {
namespace {

std::string sample_text(const std::string& root) {
  SampleEnv env;
  env.root = root;
  Sampler sampler(env);
  Sample sample;
  sampler.take(sample);
  EXPECT_GT(sample.t_ns, 0);
  EXPECT_GT(sample.mono_ns, 0);
  EXPECT_GT(sample.cost_ns, 0);
  sample.t_ns = sample.mono_ns = sample.cost_ns = 1;
  std::string text = format_stream_header("TEST", environment(env));
  format_sample(sample, text);
  for (size_t at = text.find(root); at != std::string::npos; at = text.find(root))
    text.replace(at, root.size(), "ROOT");
  return text;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, SampleIsAsWrittenDown) {
  std::string name = GetParam();
  auto expected = read_file(fixture(name + ".expected"));
  ASSERT_TRUE(expected) << expected.error().message();
  EXPECT_EQ(sample_text(fixture(name)), *expected);
}

INSTANTIATE_TEST_SUITE_P(Machines, Golden, testing::Values("old", "stacked"));

std::vector<std::string> counter_files(const std::string& root) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/proc"))
    if (entry.is_regular_file()) files.push_back(entry.path().string().substr(root.size() + 1));
  std::sort(files.begin(), files.end());
  return files;
}

std::string damaged(std::string text, std::mt19937& random) {
  auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  switch (random() % 4) {
    case 0:
      text.resize(below(text.size()));
      break;
    case 1:
      for (int i = 0; i < 8 && !text.empty(); ++i) text[below(text.size())] = static_cast<char>(random());
      break;
    case 2:
      text.insert(below(text.size()), std::string(below(5000), "9 :\n-("[below(6)]));
      break;
    default:
      text.insert(below(text.size()), " 99999999999999999999999 -5 18446744073709551615\n");
      break;
  }
  return text;
}

TEST(Damage, NoCollectorFallsOverGarbage) {
  TestTree tree("stacked");
  std::vector<std::string> files = counter_files(tree.root());
  ASSERT_GT(files.size(), 10u);
  std::mt19937 random(20100223);
  for (int round = 0; round < 300; ++round) {
    const std::string& file = files[random() % files.size()];
    auto whole = read_file(tree.path(file));
    ASSERT_TRUE(whole);
    SampleEnv env;
    env.root = tree.root();
    Sampler sampler(env);
    Sample sample;
    sampler.take(sample);
    tree.write(file, damaged(*whole, random));
    sampler.take(sample);  // with files open
    std::string text = sample_text(tree.root());
    tree.write(file, *whole);
    StreamParser parser;
    std::vector<StreamEvent> events;
    Status parsed = parser.feed(text, events);  // what is written can always be read
    ASSERT_TRUE(parsed) << file << ": " << parsed.error().message();
    ASSERT_EQ(events.size(), 1u);
  }
}

TEST(Damage, AnEmptyTreeIsNotesAndNoRows) {
  TestTree tree;
  SampleEnv env;
  env.root = tree.root();
  Sampler sampler(env);
  Sample sample;
  sampler.take(sample);
  EXPECT_TRUE(sample.rows.empty());
  EXPECT_EQ(sample.notes.size(), 4u);  // disk, network, netstat, system; no daemon is no error
  sampler.take(sample);
  EXPECT_TRUE(sample.notes.empty()) << "said once";
  EXPECT_TRUE(environment(env).empty());
}

TEST(Probe, WorksOnTreesAndSaysWhyNot) {
  for (const CollectorInfo* info : sample_collectors()) {
    SampleEnv env;
    env.root = fixture("stacked");
    EXPECT_TRUE(info->probe(env)) << info->name;
    EXPECT_FALSE(info->summary.empty());
    TestTree nothing;
    env.root = nothing.root();
    if (info->name == "tcp") continue;  // needs a kernel, not files
    Status status = info->probe(env);
    ASSERT_FALSE(status) << info->name;
    EXPECT_FALSE(status.error().what.empty());
  }
}

}  // namespace
}  // namespace culprit
