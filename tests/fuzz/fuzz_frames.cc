// Does any stream of another machine crash the reader of a capture's frames? The first byte says how it is cut into
// reads; however that is, the same frames must come out.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "capture/frames.h"

namespace {

using namespace culprit;

struct Heard {
  std::string frames;
  bool good = true;
};

Heard read_in_steps(std::string_view stream, size_t step) {
  Heard heard;
  FrameReader reader;
  for (size_t at = 0; at < stream.size() && heard.good; at += step) {
    heard.good = reader
                     .feed(stream.substr(at, step),
                           [&](const Frame& frame) -> Status {
                             heard.frames += format_frame(frame.kind, frame.payload);
                             return Ok{};
                           })
                     .ok();
  }
  if (reader.preamble().size() > 4096) std::abort();
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string whole = frames_header("0.1.0") + std::string(bytes);
  for (std::string_view stream : {bytes, std::string_view(whole)}) {
    Heard once = read_in_steps(stream, stream.size() + 1);
    Heard cut = read_in_steps(stream, size_t{data[0]} % 16 + 1);
    if (once.frames != cut.frames || once.good != cut.good) std::abort();
  }
  return 0;
}
