#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "hosts/deploy.h"
#include "hosts/runner.h"
#include "hosts/shell.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ShellQuote, EveryWordSurvivesAShell) {
  std::vector<std::string> words = {"printf", "%s\\n", "plain", "",   "a b", "it's", "$HOME", "`id`", "a\nb",
                                    "\\",     "\"",    "*",     ";x", "~",   "#c",   "!1",    "ü",    "-n"};
  auto output = run_command({"sh", "-c", shell_command(words)}, 20 * kNsPerSecond);
  ASSERT_TRUE(output);
  std::string expected;
  for (size_t i = 2; i < words.size(); ++i) expected += words[i] + "\n";
  EXPECT_EQ(output->out, expected);
}

TEST(ShellQuote, LeavesPlainWordsAlone) {
  EXPECT_EQ(shell_command({"ls", "-l", "/a/b.c"}), "ls -l /a/b.c");
}

Node node_with(const std::string& reach) {
  Node node;
  node.name = "s1";
  node.reach = reach;
  return node;
}

TEST(Runner, LocalRunsItAsItIs) {
  auto runner = make_runner(node_with("local"));
  ASSERT_TRUE(runner);
  EXPECT_THAT((*runner)->argv({"a", "b c"}), ElementsAre("a", "b c"));
  EXPECT_TRUE((*runner)->same_machine());
  auto output = (*runner)->run({"cat"}, 20 * kNsPerSecond, "text");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "text");
}

TEST(Runner, NamespaceEntersOnlyTheNetwork) {
  auto runner = make_runner(node_with("ns:s1"));
  ASSERT_TRUE(runner);
  EXPECT_THAT((*runner)->argv({"a", "b c"}), ElementsAre("nsenter", "--net=/run/netns/s1", "--", "a", "b c"));
  EXPECT_TRUE((*runner)->same_machine());
}

TEST(Runner, MissingNamespaceIsExplained) {
  auto runner = make_runner(node_with("ns:culprit-test-no-such"));
  ASSERT_TRUE(runner);
  auto output = (*runner)->run({"true"}, 20 * kNsPerSecond);
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().what, HasSubstr("there is no namespace culprit-test-no-such"));
}

TEST(Runner, SshQuotesTheCommandAndKeepsItsOptions) {
  auto runner = make_runner(*parse_reach("ssh:root@[::1]:2200"), "ssh:n", {"-F", "file"});
  std::vector<std::string> words = runner->argv({"echo", "a b"});
  EXPECT_FALSE(runner->same_machine());
  std::string all = join(words, "|");
  EXPECT_TRUE(all.starts_with("ssh|-T|-F|file|")) << all;
  EXPECT_THAT(all,
              HasSubstr("|-o|BatchMode=yes|-o|ConnectTimeout=10|-o|ServerAliveInterval=5|-o|ServerAliveCountMax=3|"));
  EXPECT_TRUE(all.ends_with("|-p|2200|-l|root|--|::1|echo 'a b'")) << all;
}

TEST(Runner, SshFailuresAreExplained) {
  auto runner = make_runner(*parse_reach("ssh:u@h"), "ssh:u@h", {});
  EXPECT_EQ(runner->explain(1, "Permission denied").what, "");  // the command's own failure
  EXPECT_EQ(runner->explain(255, "u@h: Permission denied (publickey).\n").what, "permission denied on ssh:u@h");
  EXPECT_THAT(runner->explain(255, "Host key verification failed.\r\n").hint, HasSubstr("known_hosts"));
  EXPECT_THAT(
      runner->explain(255, "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.").what,
      HasSubstr("has changed"));
  EXPECT_THAT(runner->explain(255, "ssh: connect to host h port 22: Connection timed out").what,
              HasSubstr("not reachable"));
  EXPECT_THAT(runner->explain(255, "one\nsomething new\n").what, HasSubstr("something new"));
}

TEST(Runner, RefusesWhatItCannotReach) {
  auto runner = make_runner(node_with("carrier pigeon"));
  ASSERT_FALSE(runner);
  EXPECT_THAT(runner.error().what, HasSubstr("node s1"));
}

// A cache folder of its own, and a shell script in the place of the sampler.
class DeployTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/culprit-deploy-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    utsname names{};
    ::uname(&names);
    program_.file_name = "culprit-node-test";
    program_.machine = names.machine;
    program_.size = bytes_.size();
  }
  void TearDown() override { EXPECT_TRUE(run_command({"rm", "-rf", folder_}, 20 * kNsPerSecond)); }

  Result<Output> deploy(std::string_view input) {
    std::vector<std::string> words = {"env", "XDG_CACHE_HOME=" + folder_};
    for (const std::string& word : deploy_command(program_, {"--node", "it's"})) words.push_back(word);
    return run_command(words, 20 * kNsPerSecond, input);
  }
  std::string stored() const { return folder_ + "/culprit/culprit-node-test"; }

  std::string folder_;
  std::string bytes_ = "#!/bin/sh\necho \"sampler $*\"\ncat\n";
  Program program_;
};

TEST_F(DeployTest, SendsOnceAndThenUsesWhatIsThere) {
  auto first = deploy(bytes_ + "more");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->out, "culprit-deploy send\nculprit-deploy run\nsampler --node it's\nmore") << first->err;
  struct stat info {};
  ASSERT_EQ(::stat(stored().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  auto second = deploy("again");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->out, "culprit-deploy run\nsampler --node it's\nagain");
}

TEST_F(DeployTest, ATransferThatBreaksOffLeavesNothing) {
  auto output = deploy(bytes_.substr(0, 10));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 97);
  EXPECT_EQ(run_command({"ls", "-A", folder_ + "/culprit"}, 20 * kNsPerSecond)->out, "");
  EXPECT_THAT(explain_deploy(97, output->err).what, HasSubstr("cannot store"));
}

TEST_F(DeployTest, NothingInItMeansSomethingToCsh) {
  std::string line = shell_command(deploy_command(program_, {"--node", "it's"}));
  EXPECT_EQ(line.find_first_of("\n!"), std::string::npos) << line;
  EXPECT_EQ(shell_quote("a!b c"), "'a'\\!'b c'");
}

// The node's login shell gets the command first, whatever it is.
TEST_F(DeployTest, RunsThroughEveryLoginShell) {
  std::vector<std::string> tried;
  for (const char* shell : {"sh", "bash", "dash", "ksh", "zsh", "tcsh", "fish"}) {
    if (run_command({"sh", "-c", cat("command -v ", shell)}, 20 * kNsPerSecond)->exit_code != 0) continue;
    tried.push_back(shell);
    program_.file_name = cat("culprit-node-", shell);
    std::string line = shell_command(deploy_command(program_, {"--node", "it's", "a!b"}));
    auto output = run_command({"env", "XDG_CACHE_HOME=" + folder_, shell, "-c", line}, 20 * kNsPerSecond, bytes_);
    ASSERT_TRUE(output);
    EXPECT_EQ(output->out, "culprit-deploy send\nculprit-deploy run\nsampler --node it's a!b\n")
        << shell << output->err;
  }
  EXPECT_FALSE(tried.empty());
}

TEST_F(DeployTest, AnotherMachineIsExplained) {
  program_.machine = "pdp11";
  auto output = deploy("");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 96);
  DeployReader reader("pdp11");
  auto state = reader.read(output->out);
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().what, HasSubstr("for pdp11"));
  EXPECT_FALSE(path_exists(stored()));
}

TEST(DeployReader, SkipsGreetingsAndKeepsTheStream) {
  DeployReader reader("x86_64");
  std::string bytes = "Welcome!\nculprit-de";
  EXPECT_EQ(*reader.read(bytes), DeployReader::State::waiting);
  bytes += "ploy send\n";
  EXPECT_EQ(*reader.read(bytes), DeployReader::State::send);
  EXPECT_EQ(*reader.read(bytes), DeployReader::State::waiting);
  bytes += "culprit-deploy run\nstream\n";
  EXPECT_EQ(*reader.read(bytes), DeployReader::State::running);
  EXPECT_EQ(bytes, "stream\n");
  EXPECT_EQ(reader.skipped(), "Welcome!\n");
}

TEST(DeployReader, EndlessNoiseIsAnError) {
  DeployReader reader("x86_64");
  std::string bytes(100'000, 'x');
  EXPECT_FALSE(reader.read(bytes));
}

TEST(FindNodeProgram, LooksBesideUsAndSaysWhenItIsMissing) {
  char name[] = "/tmp/culprit-find-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  std::string folder = name;
  EXPECT_FALSE(find_node_program(folder));
  ASSERT_TRUE(write_file_atomically(folder + "/culprit-node", "foobar"));
  auto program = find_node_program(folder);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->file_name, "culprit-node-85944171f73967e8");
  EXPECT_EQ(program->size, 6u);
  EXPECT_EQ(*program->block(0), "foobar");
  EXPECT_EQ(*program->block(4), "ar");
  EXPECT_EQ(*program->block(6), "");
  EXPECT_EQ(*program->block(99), "");
  EXPECT_TRUE(run_command({"rm", "-rf", folder}, 20 * kNsPerSecond));
}

}  // namespace
}  // namespace culprit
