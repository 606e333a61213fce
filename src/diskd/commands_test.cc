#include "diskd/commands.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "diskd/control_server.h"
#include "diskd/test_disks.h"
#include "vdisk/client.h"
#include "vdisk/control.h"

namespace culprit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Commands : public testing::Test {
 protected:
  Commands() {
    disks_ = std::make_unique<DiskSet>(std::move(*ImageFolder::open(scratch_.path())), replies_, DiskModel{});
    info_.quit = [this] { ++quits_; };
  }
  std::string ask(std::string_view line) { return answer_disk_command(line, *disks_, info_); }

  ScratchFolder scratch_;
  TestReplies replies_;
  DaemonInfo info_;
  std::unique_ptr<DiskSet> disks_;
  int quits_ = 0;
};

TEST_F(Commands, DisksComeAndGo) {
  EXPECT_THAT(ask("list"), HasSubstr(" disks="));
  EXPECT_EQ(ask("add s2 1MiB"), "ok size_bytes=1048576");
  EXPECT_EQ(ask("add s1 1MiB barracuda7200"), "ok size_bytes=1048576");
  EXPECT_THAT(ask("add s1 1MiB"), HasSubstr("already"));
  EXPECT_THAT(ask("list"), HasSubstr("disks=s1,s2"));
  EXPECT_THAT(ask("status s1"), HasSubstr("rate=15000000 seek_ns=4000000 opens=0 queued=0 snapshot=0 active="));
  EXPECT_EQ(ask("remove s2"), "ok");
  EXPECT_THAT(ask("remove s2"), StartsWith("error there is no disk s2"));
  EXPECT_THAT(ask("status s2"), StartsWith("error there is no disk s2"));
  disks_->by_name("s1")->opened(1);
  EXPECT_THAT(ask("remove s1"), HasSubstr("is open"));
}

TEST_F(Commands, ANewDaemonFindsDisksAndModels) {
  ask("add s1 1MiB");
  ask("model s1 ssd");
  disks_.reset();
  disks_ = std::make_unique<DiskSet>(std::move(*ImageFolder::open(scratch_.path())), replies_, DiskModel{});
  ASSERT_TRUE(disks_->load());
  EXPECT_THAT(ask("status s1"), HasSubstr("rate=60000000"));
}

TEST_F(Commands, EffectsAreShownWithTheTimeTheyHaveLeft) {
  ask("add s1 1MiB ssd");
  EXPECT_THAT(ask("slow s1 factor=4 for=1h"), StartsWith("ok active=slow slow_left_ns="));
  EXPECT_THAT(ask("hang s1 for=1h"), HasSubstr("active=slow,hang"));
  EXPECT_THAT(ask("hidden s1 share=0.5 for=1h"), HasSubstr("hidden_share=0.5 hidden_request_bytes=1000000"));
  EXPECT_THAT(ask("counters s1"), HasSubstr("active=hidden,slow,hang"));
  EXPECT_THAT(ask("heal s1 slow"), StartsWith("ok active=hidden,hang"));
  EXPECT_THAT(ask("restore s1"), HasSubstr("is under hang"));
  EXPECT_EQ(ask("heal s1"), "ok active=");
  EXPECT_EQ(ask("heal s1"), "ok active=");
}

TEST_F(Commands, SnapshotAndRestore) {
  ask("add s1 1MiB");
  EXPECT_THAT(ask("restore s1"), StartsWith("error there is no snapshot of s1"));
  EXPECT_EQ(ask("snapshot s1"), "ok");
  EXPECT_THAT(ask("status s1"), HasSubstr("snapshot=1"));
  ASSERT_EQ(::pwrite(disks_->by_name("s1")->image(), "x", 1, 77), 1);
  EXPECT_EQ(ask("restore s1"), "ok");
  char byte = 'y';
  ASSERT_EQ(::pread(disks_->by_name("s1")->image(), &byte, 1, 77), 1);
  EXPECT_EQ(byte, '\0');
}

TEST_F(Commands, QuitAsksTheDaemon) {
  EXPECT_EQ(ask("quit"), "ok");
  EXPECT_EQ(quits_, 1);
}

TEST_F(Commands, EveryAnswerIsOneLine) {
  for (const char* line : {"list", "status \x01", "nonsense\r", "add s1\x7f 1MiB", ""}) {
    std::string answer = ask(line);
    EXPECT_TRUE(answer.starts_with("ok") || answer.starts_with("error ")) << answer;
    EXPECT_EQ(answer.find('\n'), std::string::npos);
  }
}

// A client on a socket pair against the real reader of lines.
std::string talk(const std::string& text) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::thread server([fd = ends[1]] {
    Fd own(fd);
    serve_control_client(fd, [](std::string_view line) { return cat("<", line, ">"); });
  });
  Fd client(ends[0]);
  std::string got;
  std::thread writer([&] { ::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL); });
  writer.join();
  ::shutdown(client.get(), SHUT_WR);
  char block[512];
  ssize_t n;
  while ((n = ::recv(client.get(), block, sizeof block, 0)) > 0) got.append(block, static_cast<size_t>(n));
  server.join();
  return got;
}

TEST(ControlClient, OneLineInOneLineOut) {
  EXPECT_EQ(talk("list\nstatus s1\r\n"), "<list>\n<status s1>\n");
  EXPECT_EQ(talk("\n\n"), "<>\n<>\n");
  EXPECT_EQ(talk("no end"), "");
}

TEST(ControlClient, ALineWithoutEndIsRefused) {
  EXPECT_THAT(talk(std::string(5000, 'x')), testing::AnyOf(HasSubstr("error a line has at most"), ""));
  EXPECT_THAT(talk(std::string(kMaxControlLine + 1, 'x')), StartsWith("error a line has at most"));
}

TEST(ControlServerTest, TakesOverADeadSocketOnly) {
  ScratchFolder scratch;
  std::string path = scratch.path() + "/sock";
  {
    auto first = ControlServer::listen(path);
    ASSERT_TRUE(first);
    EXPECT_FALSE(ControlServer::listen(path));
  }
  EXPECT_TRUE(ControlServer::listen(path));  // its owner died without a word
  ASSERT_TRUE(write_file_atomically(scratch.path() + "/file", "precious"));
  EXPECT_FALSE(ControlServer::listen(scratch.path() + "/file"));
  EXPECT_TRUE(path_exists(scratch.path() + "/file"));
  EXPECT_FALSE(ControlServer::listen(scratch.path() + "/" + std::string(120, 'x')));
}

TEST(ControlServerTest, ServesManyClientsAtOnce) {
  ScratchFolder scratch;
  std::string path = scratch.path() + "/sock";
  auto server = ControlServer::listen(path);
  ASSERT_TRUE(server);
  server->start([](std::string_view line) { return cat("ok said=", line); });
  std::vector<DiskClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(std::move(*DiskClient::connect(path)));
  for (int i = 19; i >= 0; --i) EXPECT_EQ(clients[static_cast<size_t>(i)].ask(cat("x", i))->at("said"), cat("x", i));
}

}  // namespace
}  // namespace culprit
