// A thread with a small stack: a daemon with many disks locks its memory, and the default of 8 MB each adds up.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>

#include "base/check.h"

namespace culprit {

class SmallThread {
 public:
  explicit SmallThread(std::function<void()> work) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    auto owned = std::make_unique<std::function<void()>>(std::move(work));
    int failed = pthread_create(&thread_, &attributes, &SmallThread::run, owned.get());
    pthread_attr_destroy(&attributes);
    CHECK(failed == 0) << "no thread: error " << failed;
    owned.release();
  }
  ~SmallThread() { pthread_join(thread_, nullptr); }
  SmallThread(const SmallThread&) = delete;
  SmallThread& operator=(const SmallThread&) = delete;

 private:
  static constexpr size_t kStack = 256 * 1024;
  static void* run(void* work) {
    std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
    (*owned)();
    return nullptr;
  }
  pthread_t thread_{};
};

}  // namespace culprit
