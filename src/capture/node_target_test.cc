#include "capture/node_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/processes.h"
#include "capture/storage_device.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NodeTarget, OptionValuesInBothForms) {
  constexpr std::string_view kLine("fsd\0-s\0s1\0--brick-name\0/b/1\0--brick-name=/b/2\0--brick-names\0/no\0", 64);
  EXPECT_THAT(option_values(kLine, "--brick-name"), ElementsAre("/b/1", "/b/2"));
  EXPECT_TRUE(option_values(kLine, "--volume").empty());
  EXPECT_TRUE(option_values(std::string_view("x\0--brick-name", 14), "--brick-name").empty()) << "cut off";
  EXPECT_TRUE(option_values("", "--brick-name").empty());
}

TEST(NodeTarget, DevicesAreThoseBelowTheStorage) {
  Surroundings around;
  around.storage = {"/", "/", "/nonexistent/folder"};
  find_storage({}, "", ::getpid(), around);
  auto device = storage_device(::getpid(), "/");
  ASSERT_TRUE(device);
  EXPECT_THAT(around.devices, ElementsAre(*device));
}

// Descriptors show where a file really is.
TEST(NodeTarget, StorageBehindALinkIsFoundByItsRealPathToo) {
  const std::string folder = testing::TempDir() + "node_target_" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((folder + "/real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((folder + "/real").c_str(), (folder + "/link").c_str()), 0);
  Surroundings around;
  around.storage = {folder + "/link"};
  find_storage({}, "", ::getpid(), around);
  const std::string real = real_folder(::getpid(), folder + "/real");
  EXPECT_THAT(real, testing::EndsWith("/real"));
  EXPECT_THAT(around.storage, ElementsAre(folder + "/link", real));
  find_storage({}, "", ::getpid(), around);
  EXPECT_EQ(around.storage.size(), 2u) << "once";
  ::unlink((folder + "/link").c_str());
  ::rmdir((folder + "/real").c_str());
  ::rmdir(folder.c_str());
}

TEST(NodeTarget, DaemonsOfANameAreFoundAndOursIsNot) {
  NodeOrder order;
  order.name = "here";
  order.daemons = {"no-such-daemon"};
  auto none = find_target(order, ::getpid());
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->processes.empty());
  EXPECT_EQ(none->newcomers, order.daemons);
  EXPECT_EQ(none->network_namespace, network_namespace_of(::getpid()));
  EXPECT_THAT(target_text(*none), HasSubstr("does not run yet"));
  order.daemons.clear();
  auto all = find_target(order, ::getpid());
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->all_newcomers);
  for (const ProcessId& process : all->processes) EXPECT_NE(process.pid, ::getpid());
}

// A child with a network of its own, as a container has one.
TEST(NodeTarget, ADaemonInAContainerIsToldOf) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "culprit_inside");
    bool moved = ::unshare(CLONE_NEWNET) == 0;
    if (::write(ends[1], moved ? "y" : "n", 1) == 1) ::pause();
    ::_exit(0);
  }
  char moved = 0;
  EXPECT_EQ(::read(ends[0], &moved, 1), 1);
  NodeOrder order;
  order.name = "here";
  order.daemons = {"culprit_inside"};
  auto target = find_target(order, ::getpid());
  std::string text = target ? target_text(*target) : target.error().message();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  if (moved != 'y') GTEST_SKIP() << "a network namespace needs root";
  EXPECT_THAT(text, HasSubstr(cat("process ", child)));
  EXPECT_THAT(text, HasSubstr("--pid"));
}

TEST(NodeTarget, ANamespaceThatIsGoneIsAnError) {
  NodeOrder order;
  order.name = "s1";
  auto target = find_target(order, 0x3fffffff);  // above every pid_max
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error().what, HasSubstr("s1"));
}

}  // namespace
}  // namespace culprit
