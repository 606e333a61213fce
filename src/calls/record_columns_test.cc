#include "calls/record_columns.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace culprit {
namespace {

using Random = std::mt19937_64;

std::string odd_text(Random& random) {
  std::string text(random() % 4 == 0 ? random() % 5000 : random() % 20, '/');
  for (char& c : text) c = static_cast<char>(random() % 256);
  return text.substr(0, kMaxFdText);
}

FdRecord odd_fd(Random& random) {
  FdRecord record;
  record.t_ns = static_cast<int64_t>(random());
  record.process = static_cast<int32_t>(static_cast<uint32_t>(random()));
  record.fd = static_cast<int32_t>(random() % 100) - 1;
  record.sequence = random() >> random() % 64;
  record.kind = static_cast<FdKind>(random() % kFdKinds);
  record.fd_class = static_cast<FdClass>(random() % kFdClasses);
  record.flags = static_cast<uint32_t>(random());
  record.device = random() >> random() % 64;
  record.inode = random();
  for (std::string* text : {&record.name, &record.protocol, &record.local, &record.peer}) *text = odd_text(random);
  return record;
}

CallSum odd_sum(Random& random) {
  CallSum sum;
  sum.second = static_cast<int64_t>(random());
  sum.fd_class = static_cast<FdClass>(random() % kFdClasses);
  sum.number = static_cast<int32_t>(static_cast<uint32_t>(random()));
  sum.count = random();
  sum.sum_ns = random() >> random() % 64;
  for (uint32_t& count : sum.histogram)
    if (random() % 3 == 0) count = static_cast<uint32_t>(random());
  for (uint64_t left = random() % 5; left > 0; --left) sum.errors[static_cast<int>(random() % 4096)] = random();
  return sum;
}

TEST(RecordColumns, DescriptorsComeBack) {
  Random random(11);
  std::vector<FdRecord> records(1);
  records[0].t_ns = std::numeric_limits<int64_t>::min();
  for (int i = 0; i < 200; ++i) records.push_back(odd_fd(random));
  std::vector<FdRecord> back(1);  // appended behind what is there
  auto decoded = decode_fds(encode_fds(records), records.size(), back);
  ASSERT_TRUE(decoded) << decoded.error().what;
  back.erase(back.begin());
  EXPECT_EQ(back, records);
}

TEST(RecordColumns, TextsTooLongAreCut) {
  std::vector<FdRecord> records(1), back;
  records[0].name = std::string(2 * kMaxFdText, 'a');
  ASSERT_TRUE(decode_fds(encode_fds(records), 1, back));
  EXPECT_EQ(back[0].name, std::string(kMaxFdText, 'a'));
}

TEST(RecordColumns, SumsComeBack) {
  Random random(12);
  std::vector<CallSum> sums(1), back;
  sums[0].histogram.fill(UINT32_MAX);
  sums[0].errors[std::numeric_limits<int>::min()] = UINT64_MAX;
  for (int i = 0; i < 200; ++i) sums.push_back(odd_sum(random));
  auto decoded = decode_sums(encode_sums(sums), sums.size(), back);
  ASSERT_TRUE(decoded) << decoded.error().what;
  EXPECT_EQ(back, sums);
}

TEST(RecordColumns, CutBytesAndOtherCountsAreRefused) {
  Random random(13);
  std::vector<FdRecord> fds = {odd_fd(random), odd_fd(random)}, fds_back;
  std::vector<CallSum> sums = {odd_sum(random), odd_sum(random)}, sums_back;
  std::string fd_bytes = encode_fds(fds), sum_bytes = encode_sums(sums);
  for (size_t length = 0; length < fd_bytes.size(); ++length)
    EXPECT_FALSE(decode_fds(std::string_view(fd_bytes).substr(0, length), 2, fds_back)) << length;
  for (size_t length = 0; length < sum_bytes.size(); ++length)
    EXPECT_FALSE(decode_sums(std::string_view(sum_bytes).substr(0, length), 2, sums_back)) << length;
  EXPECT_FALSE(decode_fds(fd_bytes, 1, fds_back));
  EXPECT_FALSE(decode_sums(sum_bytes, 3, sums_back));
  EXPECT_TRUE(fds_back.empty());
}

TEST(RecordColumns, KindsThatDoNotExistAreRefused) {
  std::vector<FdRecord> records(1), back;
  records[0].kind = static_cast<FdKind>(kFdKinds);
  EXPECT_FALSE(decode_fds(encode_fds(records), 1, back));
  records[0].kind = FdKind::file;
  records[0].fd_class = static_cast<FdClass>(kFdClasses);
  EXPECT_FALSE(decode_fds(encode_fds(records), 1, back));
}

}  // namespace
}  // namespace culprit
