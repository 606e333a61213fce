// Text from the kernel (device names, command lines) as printable ASCII: it travels in lines, JSON and SQL.
#pragma once

#include <string>
#include <string_view>

namespace culprit {

// Control bytes, blanks, '%' and bytes above 126 become %XX. The second leaves blanks and '%' as they are, for text
// that is a sentence or has been encoded word by word.
std::string percent_encode(std::string_view text);
std::string percent_encode_keep_blanks(std::string_view text);

}  // namespace culprit
