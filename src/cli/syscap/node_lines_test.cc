#include "cli/syscap/node_lines.h"

#include <gtest/gtest.h>

namespace culprit {
namespace {

// The texts of two nodes, cut into pieces of `step` bytes.
std::string both(CallFormat format, bool named, const std::string& first, const std::string& second, size_t step) {
  NodeLines lines(format, named);
  std::string out;
  for (const auto& [node, text] : {std::pair<std::string, std::string>{"s1", first}, {"s,2", second}}) {
    lines.begin(node);
    for (size_t at = 0; at < text.size(); at += step) out += lines.take(std::string_view(text).substr(at, step));
  }
  return out;
}

TEST(NodeLines, EveryLineSaysWhoseItIs) {
  for (size_t step : {size_t{1}, size_t{3}, size_t{100}}) {
    EXPECT_EQ(both(CallFormat::text, true, "a\nb\n", "c\n", step), "s1 a\ns1 b\ns,2 c\n");
    EXPECT_EQ(both(CallFormat::text, false, "a\nb\n", "c\n", step), "a\nb\nc\n");
    EXPECT_EQ(both(CallFormat::csv, true, "t,x\n1,2\n", "t,x\n3,4\n", step), "node,t,x\ns1,1,2\n\"s,2\",3,4\n");
    EXPECT_EQ(both(CallFormat::csv, true, "t\n\"a\nb\"\"\"\nc\n", "t\nd\n", step),
              "node,t\ns1,\"a\nb\"\"\"\ns1,c\n\"s,2\",d\n");
    EXPECT_EQ(both(CallFormat::csv, false, "t\n1\n", "t\n2\n", step), "t\n1\n2\n");
    EXPECT_EQ(both(CallFormat::jsonl, false, "{\"a\":1}\n", "{\"a\":2}\n", step),
              "{\"node\":\"s1\",\"a\":1}\n{\"node\":\"s,2\",\"a\":2}\n");
    EXPECT_EQ(both(CallFormat::perfetto, true, "\n{", "x", step), "\n{x");
  }
}

}  // namespace
}  // namespace culprit
