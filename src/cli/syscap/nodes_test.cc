#include "cli/syscap/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "base/fd.h"
#include "base/text.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kCluster = R"(
fs = "glusterfs"
[[server]]
name = "s1"
address = "10.0.0.1"
daemons = ["no-such-daemon"]
storage = ["/"]
[[server]]
name = "s2"
address = "10.0.0.2"
reach = "ssh:root@s2"
[[client]]
name = "c1"
reach = "ssh:root@c1"
[[other]]
name = "x1"
address = "10.0.0.9"
reach = "ssh:root@x1"
)";

class NodesTest : public testing::Test {
 protected:
  NodesTest() { write_cluster(kCluster); }
  ~NodesTest() override {
    std::error_code ignored;
    std::filesystem::remove(request_.cluster_file, ignored);
  }
  void write_cluster(std::string_view text) {
    request_.cluster_file = cat(testing::TempDir(), "culprit-nodes-", static_cast<int>(::getpid()), ".toml");
    ASSERT_TRUE(write_file_atomically(request_.cluster_file, text));
  }
  TargetRequest request_;
};

TEST_F(NodesTest, AWholeClusterIsItsServersAndClients) {
  auto targets = find_targets(request_);
  ASSERT_TRUE(targets) << targets.error().message();
  ASSERT_EQ(targets->here.size(), 1u);
  EXPECT_EQ(targets->here[0].name, "s1");
  EXPECT_THAT(targets->here[0].newcomers, ElementsAre("no-such-daemon"));
  EXPECT_EQ(targets->here[0].around.devices.size(), 1u) << "the device below /";
  ASSERT_EQ(targets->remote.size(), 2u);
  EXPECT_THAT(targets->remote[0].order.daemons, ElementsAre("glusterfsd"));
  EXPECT_EQ(targets->remote[0].order.storage_option, "--brick-name");
  EXPECT_THAT(targets->remote[1].order.daemons, ElementsAre("glusterfs"));
  EXPECT_FALSE(targets->remote[1].order.around.server);
  EXPECT_THAT(targets->notes, ElementsAre(HasSubstr("s1: no-such-daemon")));
}

TEST_F(NodesTest, PeersAreAllNodesWithAnAddress) {
  auto targets = find_targets(request_);
  ASSERT_TRUE(targets);
  const Surroundings& around = targets->here.at(0).around;
  ASSERT_EQ(around.peers.size(), 3u);
  EXPECT_EQ(around.peers[2].node, "x1");
  EXPECT_EQ(around.peers[2].kind, NodeKind::other);
  EXPECT_FALSE(around.data_ports.empty());
}

TEST_F(NodesTest, NamedNodesOnly) {
  request_.nodes = {"s2", "s2"};
  auto targets = find_targets(request_);
  ASSERT_TRUE(targets);
  EXPECT_TRUE(targets->here.empty());
  EXPECT_EQ(targets->remote.size(), 1u);
  request_.nodes = {"s3"};
  EXPECT_THAT(find_targets(request_).error().what, HasSubstr("s3"));
  request_.nodes = {"x1"};
  EXPECT_THAT(find_targets(request_).error().hint, HasSubstr("daemons"));
}

TEST_F(NodesTest, ACommandRunsHereOrOnItsNode) {
  request_.command = {"true", "a b"};
  auto mine = find_targets(request_);
  ASSERT_TRUE(mine) << mine.error().message();
  EXPECT_EQ(mine->command, request_.command);
  EXPECT_EQ(mine->cluster.nodes.size(), 1u);
  EXPECT_THAT(mine->what, ElementsAre("COMMAND: true a b"));
  EXPECT_EQ(mine->here.at(0).network_namespace, 0u) << "nobody else's processes";
  request_.nodes = {"s1"};
  auto local = find_targets(request_);
  ASSERT_TRUE(local);
  EXPECT_EQ(local->here.at(0).name, "s1");
  EXPECT_THAT(local->here.at(0).around.storage, ElementsAre("/"));
  EXPECT_THAT(local->far_command, ElementsAre());
  request_.nodes = {"s2"};
  auto far = find_targets(request_);
  ASSERT_TRUE(far);
  EXPECT_EQ(far->far_command, request_.command);
  EXPECT_THAT(far->command, ElementsAre());
  EXPECT_TRUE(far->here.empty());
  EXPECT_EQ(far->remote.size(), 1u);
  request_.nodes = {"s1", "s2"};
  EXPECT_FALSE(find_targets(request_));
}

TEST_F(NodesTest, ProcessesOfAnotherMachineAreLookedForThere) {
  request_.nodes = {"s2"};
  request_.pids = {4711};
  auto targets = find_targets(request_);
  ASSERT_TRUE(targets) << targets.error().message();
  EXPECT_TRUE(targets->here.empty());
  ASSERT_EQ(targets->remote.size(), 1u);
  EXPECT_THAT(targets->remote[0].order.pids, ElementsAre(4711));
  request_.pids.clear();
  request_.cgroup = "system.slice/x.service";
  EXPECT_EQ(find_targets(request_)->remote.at(0).order.cgroup, request_.cgroup);
}

TEST_F(NodesTest, ProcessesAreIdentified) {
  request_.pids = {::getppid()};
  auto targets = find_targets(request_);
  ASSERT_TRUE(targets) << targets.error().message();
  ASSERT_EQ(targets->here.at(0).processes.size(), 1u);
  EXPECT_EQ(targets->here[0].processes[0].pid, ::getppid());
  request_.pids = {::getpid()};
  EXPECT_FALSE(find_targets(request_)) << "a loop";
  request_.pids = {0x3fffffff};
  EXPECT_FALSE(find_targets(request_));
}

TEST_F(NodesTest, AThreadIsNoProcess) {
  std::promise<pid_t> number;
  std::promise<void> end;
  std::thread thread([&] {
    number.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
    end.get_future().wait();
  });
  request_.pids = {number.get_future().get()};
  auto targets = find_targets(request_);
  end.set_value();
  thread.join();
  ASSERT_FALSE(targets);
  EXPECT_EQ(targets.error().kind, ErrorKind::usage);
  EXPECT_THAT(targets.error().what, HasSubstr(cat("is a thread of process ", ::getpid())));
  EXPECT_EQ(targets.error().hint, cat("use --pid ", ::getpid()));
}

TEST_F(NodesTest, TwinsAndKernelFileSystemsAreRefused) {
  write_cluster("[[server]]\nname = \"a\"\ndaemons = [\"x\"]\n[[server]]\nname = \"b\"\ndaemons = [\"x\"]\n");
  EXPECT_THAT(find_targets(request_).error().what, HasSubstr("both this machine"));
  write_cluster("fs = \"lustre\"\n[[server]]\nname = \"a\"\n");
  EXPECT_THAT(find_targets(request_).error().what, HasSubstr("no node that could be captured"));
  write_cluster("fs = \"lutsre\"\n[[server]]\nname = \"a\"\n");
  EXPECT_THAT(find_targets(request_).error().hint, HasSubstr("lustre"));
}

}  // namespace
}  // namespace culprit
