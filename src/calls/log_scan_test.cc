#include "calls/log_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace culprit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string block_of(const std::string& raw, BlockKind kind = BlockKind::calls) {
  auto made = BlockMaker().make(kind, raw, 1);
  EXPECT_TRUE(made);
  return made ? *made : "";
}

struct Found {
  std::vector<std::string> raws;
  std::vector<std::string> notes;
};

Found blocks_in(const std::string& bytes) {
  ByteSource source(bytes);
  BlockReader reader(source, 0);
  Found found;
  Block block;
  while (true) {
    auto more = reader.next(block);
    EXPECT_TRUE(more);
    if (!more || !*more) break;
    found.raws.push_back(block.raw);
  }
  found.notes = reader.notes();
  return found;
}

TEST(LogScan, BlocksComeOneAfterTheOther) {
  Found found = blocks_in(block_of("one") + block_of("") + block_of(std::string(100'000, 'x')));
  EXPECT_THAT(found.raws, ElementsAre("one", "", std::string(100'000, 'x')));
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_THAT(blocks_in("").raws, IsEmpty());
}

TEST(LogScan, WhatStandsBetweenGoodBlocksIsSteppedOver) {
  std::string one = block_of("one");
  for (size_t length : {1, 7, 31, 32, 255, 256, 257, 70'000}) {
    Found found = blocks_in(cat(one, std::string(length, 'x'), block_of("two")));
    EXPECT_THAT(found.raws, ElementsAre("one", "two")) << length;
    EXPECT_THAT(found.notes,
                ElementsAre(cat(length, " bytes at offset ", one.size(), " are damaged and were skipped")));
  }
}

TEST(LogScan, ADamagedBlockCostsThatBlockOnly) {
  std::string one = block_of("one"), two = block_of("two"), three = block_of("three");
  for (size_t at = 0; at < two.size(); ++at) {
    std::string damaged = two;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Found found = blocks_in(one + damaged + three);
    EXPECT_THAT(found.raws, ElementsAre("one", "three")) << at;
    EXPECT_THAT(found.notes, SizeIs(1)) << at;
  }
}

TEST(LogScan, ACutLastBlockIsSaid) {
  std::string one = block_of("one"), two = block_of("two");
  for (size_t length = 1; length < two.size(); ++length) {
    Found found = blocks_in(one + two.substr(0, length));
    EXPECT_THAT(found.raws, ElementsAre("one"));
    EXPECT_THAT(found.notes, ElementsAre(HasSubstr("was not finished"))) << length;
  }
}

TEST(LogScan, AMagicInsideABlockIsNotABlock) {
  std::string inner = block_of("inner");
  std::string outer = block_of(inner);
  EXPECT_THAT(blocks_in(outer).raws, ElementsAre(inner));
}

// Each of these would be hashed to the end of the file: the square of its length.
TEST(LogScan, AFileFullOfFalseHeadersEnds) {
  std::string good = block_of("good");
  std::string large = block_of(std::string(1 << 20, 'x'));
  std::string header = large.substr(0, kBlockHeaderBytes);
  header[17] = header[18] = 0x10;  // it says that 1 MiB and a little is stored
  std::string bytes = good;
  for (int i = 0; i < 100'000; ++i) bytes += header;
  Found found = blocks_in(bytes + good);
  EXPECT_EQ(found.raws.front(), "good");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("looks like blocks and is none")));
}

TEST(LogScan, NotesAreCountedInTheEnd) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += cat("?", block_of("x"));
  Found found = blocks_in(bytes);
  EXPECT_THAT(found.raws, SizeIs(100));
  EXPECT_THAT(found.notes, SizeIs(21));
  EXPECT_EQ(found.notes.back(), "and 80 more places like these");
}

TEST(LogScan, ABlockWithTheRightChecksumAndTheWrongLengthIsLeftOut) {
  std::string block = block_of("one");
  block[12] = 9;  // raw bytes: it has three
  std::string_view bytes = block;
  uint64_t checksum = block_checksum(bytes, bytes.substr(kBlockHeaderBytes));
  for (size_t i = 0; i < 8; ++i) block[24 + i] = static_cast<char>((checksum >> (8 * i)) & 0xff);
  Found found = blocks_in(block + block_of("two"));
  EXPECT_THAT(found.raws, ElementsAre("two"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("not compressed as it says")));
}

TEST(LogScan, TheLastBlockIsFoundFromTheEnd) {
  std::string bytes = cat(file_magic(LogFile::calls), block_of("one"), block_of("end", BlockKind::end));
  auto last = last_block(ByteSource(bytes));
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->is(BlockKind::end));
  EXPECT_EQ(last->raw, "end");
  EXPECT_FALSE(last_block(ByteSource(bytes + "x")));
  EXPECT_FALSE(last_block(ByteSource(bytes.substr(0, bytes.size() - 1))));
  EXPECT_FALSE(last_block(ByteSource("")));
}

TEST(BlockMaker, RefusesWhatNoReaderTakes) {
  EXPECT_FALSE(BlockMaker().make(BlockKind::calls, std::string(kMaxBlockBytes + 1, 'x'), 1));
  EXPECT_FALSE(BlockMaker().make(BlockKind::calls, "x", kMaxBlockRecords + 1));
}

}  // namespace
}  // namespace culprit
