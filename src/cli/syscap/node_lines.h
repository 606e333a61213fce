// The node's name in the lines that an export of its log wrote: several logs become one text, in which every line says
// whose it is.
#pragma once

#include <string>
#include <string_view>

#include "calls/call_export.h"

namespace culprit {

class NodeLines {
 public:
  // `named`: text and CSV get the node's name; JSON always has it.
  NodeLines(CallFormat format, bool named);
  void begin(const std::string& node);
  std::string take(std::string_view bytes);  // lines may be cut anywhere

 private:
  std::string before_line() const;

  CallFormat format_;
  bool named_;
  std::string prefix_;
  bool at_start_ = true;  // of a line
  bool quoted_ = false;   // within a field of CSV that is quoted
  bool heading_ = false;  // the line is CSV's first, with the columns' names
  bool first_node_ = true;
};

}  // namespace culprit
