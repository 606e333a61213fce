#include "capture/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"

namespace culprit {
namespace {

using testing::HasSubstr;

struct Heard {
  std::string kinds;
  std::vector<std::string> payloads;
  FrameReader::Take take() {
    return [this](const Frame& frame) -> Status {
      kinds += static_cast<char>(frame.kind);
      payloads.emplace_back(frame.payload);
      return Ok{};
    };
  }
};

std::string sample_stream() {
  return frames_header("0.1.0") + format_frame(FrameKind::calls, std::string("a\0\nb", 4)) +
         format_frame(FrameKind::fds, "") + format_frame(FrameKind::done, "asked");
}

TEST(Frames, ArriveWholeHoweverTheyAreCut) {
  std::string stream = "Welcome!\nno newline here: " + sample_stream();
  for (size_t step : {size_t{1}, size_t{2}, size_t{7}, stream.size()}) {
    Heard heard;
    FrameReader reader;
    for (size_t at = 0; at < stream.size(); at += step)
      ASSERT_TRUE(reader.feed(std::string_view(stream).substr(at, step), heard.take())) << step;
    EXPECT_EQ(heard.kinds, "cfd") << step;
    EXPECT_EQ(heard.payloads, (std::vector<std::string>{std::string("a\0\nb", 4), "", "asked"}));
    EXPECT_FALSE(reader.within());
    EXPECT_EQ(reader.preamble(), "Welcome!");
  }
}

TEST(Frames, ACutStreamIsKnownToBeCut) {
  std::string stream = sample_stream();
  Heard heard;
  FrameReader reader;
  ASSERT_TRUE(reader.feed(std::string_view(stream).substr(0, stream.size() - 1), heard.take()));
  EXPECT_EQ(heard.kinds, "cf");
  EXPECT_TRUE(reader.within());
}

TEST(Frames, UnknownKindsAreSkipped) {
  std::string newer = format_frame(FrameKind::note, "later");
  newer[0] = '?';
  Heard heard;
  FrameReader reader;
  ASSERT_TRUE(reader.feed(frames_header("9.9.9") + newer + format_frame(FrameKind::note, "x"), heard.take()));
  EXPECT_EQ(heard.payloads, std::vector<std::string>{"x"});
}

TEST(Frames, AnotherVersionIsRefused) {
  FrameReader reader;
  Status fed = reader.feed("culprit-frames 2 9.9.9\n", Heard().take());
  ASSERT_FALSE(fed);
  EXPECT_THAT(fed.error().what, HasSubstr("speaks version 2"));
  EXPECT_NE(fed.error().hint, "");
  EXPECT_FALSE(reader.feed(frames_header("0.1.0"), Heard().take())) << "an error stays";
}

TEST(Frames, HostileBytesAreBounded) {
  FrameReader huge;
  EXPECT_FALSE(huge.feed(frames_header("0.1.0") + std::string("c\xff\xff\xff\xff", 5), Heard().take()));
  FrameReader endless;
  Status fed = Ok{};
  for (int i = 0; i < 100 && fed; ++i) fed = endless.feed(std::string(1000, 'x'), Heard().take());
  EXPECT_FALSE(fed) << "a line without an end";
  FrameReader chatty;
  fed = Ok{};
  for (int i = 0; i < 100 && fed; ++i) fed = chatty.feed(std::string(999, 'x') + "\n", Heard().take());
  EXPECT_FALSE(fed) << "greetings without an end";
  EXPECT_LE(chatty.preamble().size(), 400u);
}

TEST(Frames, AnErrorOfTheReceiverEndsTheReading) {
  FrameReader reader;
  auto full = [](const Frame&) -> Status { return system_error("the disk", 28); };
  EXPECT_FALSE(reader.feed(sample_stream(), full));
  EXPECT_FALSE(reader.feed("", Heard().take()));
}

}  // namespace
}  // namespace culprit
