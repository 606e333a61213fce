#include "sample/percent.h"

namespace culprit {

namespace {

std::string encode(std::string_view text, bool keep_blanks) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool plain = byte > 0x20 && byte < 0x7f && c != '%';
    if (plain || (keep_blanks && (c == ' ' || c == '%'))) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace

std::string percent_encode(std::string_view text) {
  return encode(text, false);
}
std::string percent_encode_keep_blanks(std::string_view text) {
  return encode(text, true);
}

}  // namespace culprit
