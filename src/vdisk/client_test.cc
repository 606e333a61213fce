#include "vdisk/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/text.h"

namespace culprit {
namespace {

class Client : public testing::Test {
 protected:
  Client() {
    char name[] = "/tmp/culprit-vdisk-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Client() override { std::filesystem::remove_all(folder_); }

  // Answers one client's questions with these lines, in order, then closes.
  std::thread serve(std::vector<std::string> answers) {
    path_ = folder_ + "/sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    return std::thread([listener, answers] {
      Fd own(listener), client(::accept(listener, nullptr, nullptr));
      char block[1024];
      for (const std::string& answer : answers) {
        if (::recv(client.get(), block, sizeof block, 0) <= 0) return;
        for (size_t i = 0; i < answer.size(); i += 3)  // in pieces, as sockets may
          ::send(client.get(), answer.data() + i, std::min<size_t>(3, answer.size() - i), MSG_NOSIGNAL);
      }
    });
  }

  std::string folder_, path_;
};

TEST_F(Client, ReadsAnswersAndErrors) {
  std::thread server = serve({"ok\n", "ok a=1 model=rate=1,seek=2 empty=\n", "error no disk x hint: list\n", "huh\n"});
  auto client = DiskClient::connect(path_);
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->ask("quit")->empty());
  auto answer = client->ask("status s1");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("a"), "1");
  EXPECT_EQ(answer->at("model"), "rate=1,seek=2");
  EXPECT_EQ(answer->at("empty"), "");
  auto refused = client->ask("status x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "no disk x");
  EXPECT_EQ(refused.error().hint, "list");
  EXPECT_FALSE(client->ask("status x"));
  server.join();
  EXPECT_FALSE(client->ask("list"));  // it is gone: an error, not a signal
}

TEST_F(Client, SaysWhyThereIsNoDaemon) {
  auto client = DiskClient::connect(folder_ + "/nothing");
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().hint, "");
  EXPECT_FALSE(DiskClient::connect(folder_ + std::string(200, 'x')));
}

TEST_F(Client, AQuestionIsOneLine) {
  std::thread server = serve({"ok\n"});
  auto client = DiskClient::connect(path_);
  ASSERT_TRUE(client);
  EXPECT_FALSE(client->ask("list\nquit"));
  EXPECT_TRUE(client->ask("list"));
  server.join();
}

class Behind : public Client {
 protected:
  void make(const std::string& device, const std::string& file) {
    std::filesystem::create_directories(folder_ + "/block/" + device + "/loop");
    ASSERT_TRUE(write_file_atomically(folder_ + "/block/" + device + "/loop/backing_file", file + "\n"));
  }
};

TEST_F(Behind, NamesTheDiskOfALoopDevice) {
  make("loop3", "/tmp/a/mnt/lab-s1.img");
  EXPECT_EQ(*virtual_disk_behind("loop3", folder_), "lab-s1");
  EXPECT_EQ(*virtual_disk_behind("/dev/loop3", folder_), "lab-s1");
}

TEST_F(Behind, RefusesOtherDevices) {
  std::filesystem::create_directories(folder_ + "/block/sda");
  make("loop4", "/var/lib/snap.squashfs");
  make("loop5", "/.img");
  for (const char* device : {"sda", "loop9", "loop4", "loop5", "", "../block/loop4"})
    EXPECT_FALSE(virtual_disk_behind(device, folder_)) << device;
}

}  // namespace
}  // namespace culprit
