// What the user side computes without a kernel: settings, sums, names, versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "capture/ebpf/call_config.h"
#include "capture/ebpf/kernel_check.h"
#include "capture/ebpf/loader.h"
#include "capture/ebpf/sums.h"
#include "capture/ebpf/targets.h"

namespace culprit {
namespace {

size_t number_of(std::string_view name) {
  const Syscall* call = find_syscall(name);
  EXPECT_NE(call, nullptr) << name;
  return call ? static_cast<size_t>(call->number) : 0;
}

TEST(CallConfig, SaysWhatIsWantedAndWhereTheArgumentsAre) {
  CallSet wanted;
  wanted.set(number_of("pwrite64"));
  wanted.set(number_of("openat"));
  wanted.set(number_of("sendmsg"));
  wanted.set(number_of("preadv2"));
  auto config = std::make_unique<syscap_config>();
  fill_call_config(wanted, *config);
  const syscap_call_info& write = config->calls[number_of("pwrite64")];
  EXPECT_EQ(write.flags, kSyscapWanted);
  EXPECT_EQ(write.fd, 0);
  EXPECT_EQ(write.second_fd, kSyscapNoArg);
  EXPECT_EQ(write.path, kSyscapNoArg);
  const syscap_call_info& open = config->calls[number_of("openat")];
  EXPECT_EQ(open.flags, kSyscapWanted | kSyscapReturnsFd);
  EXPECT_EQ(open.path, 1);
  EXPECT_EQ(config->calls[number_of("sendmsg")].vector, kSyscapMsghdr);
  EXPECT_EQ(config->calls[number_of("preadv2")].vector, kSyscapIovec);
  EXPECT_EQ(config->calls[number_of("preadv2")].vector_bytes, 4);
  EXPECT_EQ(config->calls[number_of("sendfile")].second_fd, 1);
}

TEST(CallConfig, ClosesAreFollowedEvenWhenTheyAreNotWanted) {
  auto config = std::make_unique<syscap_config>();
  fill_call_config({}, *config);
  EXPECT_EQ(config->calls[number_of("close")].flags, kSyscapClose);
  EXPECT_EQ(config->calls[number_of("close_range")].flags, kSyscapClose);
  EXPECT_EQ(config->calls[number_of("read")].flags, 0);
  EXPECT_EQ(config->calls[number_of("connect")].flags & kSyscapWanted, 0);
}

TEST(CallConfig, NumbersOfTheSpecialOnesAreRight) {
  auto config = std::make_unique<syscap_config>();
  fill_call_config({}, *config);
  for (const char* name : {"connect", "bind", "listen", "fcntl"})
    EXPECT_TRUE(config->calls[number_of(name)].flags & kSyscapChangesFd) << name;
  EXPECT_TRUE(config->calls[number_of("io_submit")].flags & kSyscapSubmitsAio);
  EXPECT_TRUE(config->calls[number_of("io_getevents")].flags & kSyscapReapsAio);
  EXPECT_TRUE(config->calls[number_of("io_pgetevents")].flags & kSyscapReapsAio);
}

syscap_sum sum_of(uint64_t count, uint64_t ns, uint32_t in_bucket_4) {
  syscap_sum sum{};
  sum.count = count;
  sum.sum_ns = ns;
  sum.histogram[4] = in_bucket_4;
  return sum;
}

TEST(SumDeltas, ASecondIsTheDifferenceOfTwoReadings) {
  SumDeltas deltas;
  std::vector<CallSum> rows;
  auto keep = [&](size_t, const CallSum& sum) { rows.push_back(sum); };
  deltas.add({0, 1, 18}, sum_of(10, 1000, 3));
  deltas.add_error({0, 1, 18, 28}, 2);
  deltas.take(100, keep);
  deltas.add({0, 1, 18}, sum_of(15, 1600, 4));
  deltas.add_error({0, 1, 18, 28}, 2);
  deltas.take(101, keep);
  deltas.add({0, 1, 18}, sum_of(15, 1600, 4));
  deltas.take(102, keep);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].second, 100);
  EXPECT_EQ(rows[0].fd_class, FdClass::storage);
  EXPECT_EQ(rows[0].number, 18);
  EXPECT_EQ(rows[0].count, 10U);
  EXPECT_EQ(rows[0].errors.at(28), 2U);
  EXPECT_EQ(rows[1].second, 101);
  EXPECT_EQ(rows[1].count, 5U);
  EXPECT_EQ(rows[1].sum_ns, 600U);
  EXPECT_EQ(rows[1].histogram[4], 1U);
  EXPECT_THAT(rows[1].errors, testing::IsEmpty());
}

TEST(Targets, NamesAreCutAsTheKernelCutsThem) {
  syscap_name name = make_comm(3, "a-name-of-more-than-fifteen");
  EXPECT_EQ(name.node, 3U);
  EXPECT_STREQ(name.comm, "a-name-of-more-");
  EXPECT_STREQ(make_comm(0, "dd").comm, "dd");
}

TEST(Targets, PortsOutsideTheirRangeAreIgnored) {
  Surroundings around;
  around.data_ports = {{24007, 24008}, {65535, 70000}, {-5, 1}};
  auto ports = std::make_unique<syscap_ports>(make_ports(around));
  auto has = [&](unsigned port) { return (ports->bits[port / 64] >> (port % 64) & 1) != 0; };
  EXPECT_TRUE(has(24007));
  EXPECT_TRUE(has(24008));
  EXPECT_FALSE(has(24009));
  EXPECT_TRUE(has(65535));
  EXPECT_FALSE(has(0));
  EXPECT_TRUE(has(1));
}

TEST(KernelCheck, VersionsAreComparedAsNumbers) {
  EXPECT_TRUE(version_at_least("6.18.44-x", 5, 17));
  EXPECT_TRUE(version_at_least("5.17.0", 5, 17));
  EXPECT_FALSE(version_at_least("5.9.1", 5, 17));
  EXPECT_FALSE(version_at_least("4.19", 5, 17));
  EXPECT_FALSE(version_at_least("nonsense", 5, 17));
  EXPECT_FALSE(version_at_least("6", 5, 17));
}

TEST(KernelCheck, CapabilitiesAreBitsOfTheEffectiveSet) {
  std::string_view status = "Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000008000000000\nCapBnd:\t0\n";
  EXPECT_TRUE(has_capability(status, 39));
  EXPECT_FALSE(has_capability(status, 38));
  EXPECT_FALSE(has_capability("Name:\tx\n", 39));
}

TEST(Loader, ARingIsAPowerOfTwo) {
  EXPECT_EQ(ring_bytes(64 << 20), size_t{64} << 20);
  EXPECT_EQ(ring_bytes((64 << 20) + 1), size_t{128} << 20);
  EXPECT_TRUE(std::has_single_bit(ring_bytes(1)));
  EXPECT_GE(ring_bytes(1), 4096U);
  EXPECT_LE(ring_bytes(SIZE_MAX), size_t{1} << 30);
}

}  // namespace
}  // namespace culprit
