#include "capture/ptrace/tracee_memory.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace culprit {
namespace {

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

TEST(TraceeMemoryTest, AStringMayEndBeforeAPageThatIsNotThere) {
  constexpr size_t kPage = 4096;
  auto* pages =
      static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(pages + kPage, kPage), 0);
  char* text = pages + kPage - 8;
  std::memcpy(text, "/a/long", 8);
  EXPECT_EQ(read_string(getpid(), address_of(text), 4096), "/a/long");
  EXPECT_EQ(read_string(getpid(), address_of(text), 3), "/a/");
  EXPECT_EQ(read_string(getpid(), address_of(pages + kPage), 4096), "");
  EXPECT_EQ(read_string(getpid(), 0, 4096), "");
  munmap(pages, kPage);
}

TEST(TraceeMemoryTest, VectorsAreSummedUp) {
  std::vector<iovec> buffers(1025, iovec{nullptr, 100});
  EXPECT_EQ(vector_bytes(getpid(), address_of(buffers.data()), 3), 300u);
  EXPECT_EQ(vector_bytes(getpid(), address_of(buffers.data()), 20), 2000u);
  EXPECT_EQ(vector_bytes(getpid(), address_of(buffers.data()), 1025), 102'400u) << "the kernel takes 1024";
  EXPECT_EQ(vector_bytes(getpid(), 8, 20), 0u);
  msghdr message{};
  message.msg_iov = buffers.data();
  message.msg_iovlen = 2;
  EXPECT_EQ(message_bytes(getpid(), address_of(&message)), 200u);
  EXPECT_EQ(message_bytes(getpid(), 8), 0u);
}

TEST(TraceeMemoryTest, Endpoints) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(24007);
  address.sin_addr.s_addr = htonl(0x0a000007);
  int family = 0;
  EXPECT_EQ(read_endpoint(getpid(), address_of(&address), sizeof address, family), "10.0.0.7:24007");
  EXPECT_EQ(family, AF_INET);
  EXPECT_EQ(read_endpoint(getpid(), address_of(&address), 1, family), "");
  EXPECT_EQ(read_endpoint(getpid(), 8, sizeof address, family), "");
}

}  // namespace
}  // namespace culprit
