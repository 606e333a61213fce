// A file that a command writes. It appears under its name only when it is whole. What is there and is not a plain file
// (a pipe, a device, a link) is written to as it is: renaming a file over it would destroy it.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace culprit {

class OutFile {
 public:
  explicit OutFile(std::string path);
  ~OutFile();  // removes what was not closed
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  Status open();
  Status write(std::string_view bytes);
  Status close();

 private:
  std::string path_;
  std::string target_;
  Fd fd_;
};

}  // namespace culprit
