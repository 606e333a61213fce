#include "calls/call.h"

namespace culprit {

namespace {

constexpr const char* kNames[kFdClasses] = {"other", "storage", "to-client", "to-server", "fuse"};

}  // namespace

const char* name_of(FdClass fd_class) {
  return kNames[static_cast<size_t>(fd_class)];
}

}  // namespace culprit
