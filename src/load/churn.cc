#include "load/churn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "load/load_data.h"

namespace culprit {

namespace {

constexpr int64_t kNap = 50 * kNsPerMs;      // how late a stop is seen
constexpr int64_t kTell = 5 * kNsPerSecond;  // between two totals
constexpr size_t kMostKinds = 100;           // of complaints; there are about 130 errnos, and nobody meets them all
constexpr std::string_view kOtherKinds = "others";

struct Kept {
  std::string path;
  uint64_t stamp = 0;  // of its first record
  int64_t records = 0;
};

class Churn {
 public:
  Churn(const ChurnOptions& options, const std::atomic<bool>& stop, const ChurnListener& listener)
      : options_(options),
        stop_(stop),
        listener_(listener),
        written_(options.seed, options.record),
        read_(options.seed, options.record),
        random_(options.seed) {}

  ChurnReport run();

 private:
  void step();
  void make();
  void grow(Kept& file);
  void write_over(const std::string& path);
  void check_and_remove(const Kept& file);

  Fd open(std::string_view verb, const std::string& path, int flags);
  bool write(const Fd& file, const std::string& path, int64_t offset);
  void read_back(const Fd& file, const std::string& path, int64_t offset);
  bool sync(const Fd& file, const std::string& path);
  void close(Fd& file, const std::string& path);
  template <class Call>
  int64_t timed(std::string_view verb, const std::string& path, Call call);
  void complain(std::string_view verb, const std::string& path, std::string_view why);
  bool goes_on() const;
  void pause();

  const ChurnOptions& options_;
  const std::atomic<bool>& stop_;
  const ChurnListener& listener_;
  LoadData written_, read_;
  std::mt19937_64 random_;
  std::deque<Kept> kept_;
  ChurnReport report_;
  uint64_t stamp_ = 0;
  int64_t begin_ns_ = monotonic_now_ns();
  int64_t told_ns_ = begin_ns_;
};

void Churn::complain(std::string_view verb, const std::string& path, std::string_view why) {
  std::string kind = cat(verb, ": ", why);
  auto known = report_.complaints.find(kind);
  if (known != report_.complaints.end()) {
    ++known->second;
    return;
  }
  if (report_.complaints.size() >= kMostKinds) {
    ++report_.complaints[std::string(kOtherKinds)];
    return;
  }
  report_.complaints[kind] = 1;
  if (listener_.first) listener_.first(cat(format_time(wall_now_ns()), " ", verb, " ", path, ": ", why));
}

// The call's result; -1 after it was complained about.
template <class Call>
int64_t Churn::timed(std::string_view verb, const std::string& path, Call call) {
  const int64_t begin = monotonic_now_ns();
  int64_t result = 0;
  do {
    result = call();
  } while (result < 0 && errno == EINTR && !stop_);
  const int error = result < 0 ? errno : 0;
  const int64_t took = monotonic_now_ns() - begin;
  report_.longest_ns = std::max(report_.longest_ns, took);
  if (took > options_.stall_ns) complain(verb, path, cat("it took longer than ", format_duration(options_.stall_ns)));
  if (result < 0 && !(error == EINTR && stop_)) complain(verb, path, std::strerror(error));
  return result;
}

Fd Churn::open(std::string_view verb, const std::string& path, int flags) {
  const int all = flags | O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
  return Fd(static_cast<int>(timed(verb, path, [&] { return int64_t{::open(path.c_str(), all, 0644)}; })));
}

bool Churn::write(const Fd& file, const std::string& path, int64_t offset) {
  const int64_t n = timed("write", path, [&] {
    return int64_t{::pwrite(file.get(), written_.data(), static_cast<size_t>(options_.record), offset)};
  });
  if (n >= 0 && n < options_.record) complain("write", path, "it took a part only");
  return n == options_.record;
}

// Compares with what written_ holds.
void Churn::read_back(const Fd& file, const std::string& path, int64_t offset) {
  const int64_t n = timed("read", path, [&] {
    return int64_t{::pread(file.get(), read_.data(), static_cast<size_t>(options_.record), offset)};
  });
  if (n < 0) return;
  if (n < options_.record)
    complain("read", path, "less than was written");
  else if (std::memcmp(read_.data(), written_.data(), static_cast<size_t>(n)) != 0)
    complain("read", path, "not what was written");
}

bool Churn::sync(const Fd& file, const std::string& path) {
  return timed("fsync", path, [&] { return int64_t{::fsync(file.get())}; }) == 0;
}

// Network file systems tell of lost writes here.
void Churn::close(Fd& file, const std::string& path) {
  const int number = file.release();
  timed("close", path, [&] {
    const int result = ::close(number);
    return int64_t{result != 0 && errno == EINTR ? 0 : result};  // it is closed all the same
  });
}

void Churn::make() {
  Kept made{cat(options_.folder, "/", stamp_), stamp_, 1};
  written_.stamp(stamp_++);
  Fd file = open("create", made.path, O_RDWR | O_CREAT | O_EXCL);
  if (!file.valid()) return;
  const bool good = write(file, made.path, 0) && sync(file, made.path);
  if (good) read_back(file, made.path, 0);
  close(file, made.path);
  if (!good) made.records = 0;  // nobody can tell what it holds
  kept_.push_back(std::move(made));
}

void Churn::grow(Kept& kept) {
  Fd file = open("open", kept.path, O_WRONLY);
  if (!file.valid()) return;
  written_.stamp(stamp_++);
  if (write(file, kept.path, std::max<int64_t>(1, kept.records) * options_.record) && sync(file, kept.path) &&
      kept.records > 0)
    ++kept.records;
  close(file, kept.path);
}

void Churn::write_over(const std::string& path) {
  Fd file = open("open", path, O_RDWR);
  if (!file.valid()) return;
  struct stat info {};
  const bool seen = timed("stat", path, [&] { return int64_t{::fstat(file.get(), &info)}; }) == 0;
  const int64_t records = seen ? info.st_size / options_.record : 0;
  if (records > 0) {
    const int64_t offset = static_cast<int64_t>(random_() % static_cast<uint64_t>(records)) * options_.record;
    written_.stamp(stamp_++);
    if (write(file, path, offset)) read_back(file, path, offset);
  }
  close(file, path);
}

void Churn::check_and_remove(const Kept& kept) {
  if (kept.records > 0) {
    Fd file = open("open", kept.path, O_RDONLY);
    if (file.valid()) {
      written_.stamp(kept.stamp);
      read_back(file, kept.path, 0);
      close(file, kept.path);
    }
  }
  timed("unlink", kept.path, [&] { return int64_t{::unlink(kept.path.c_str())}; });
}

void Churn::step() {
  make();
  if (!kept_.empty()) grow(kept_[static_cast<size_t>(random_() % kept_.size())]);
  if (!options_.files.empty()) write_over(options_.files[static_cast<size_t>(report_.steps) % options_.files.size()]);
  while (static_cast<int64_t>(kept_.size()) > options_.keep && !stop_) {
    check_and_remove(kept_.front());
    kept_.pop_front();
  }
  ++report_.steps;
}

bool Churn::goes_on() const {
  if (stop_) return false;
  if (options_.steps > 0) return report_.steps < options_.steps;
  return monotonic_now_ns() - begin_ns_ < options_.duration_ns;
}

void Churn::pause() {
  const int64_t end = monotonic_now_ns() + options_.pause_ns;
  for (int64_t now = monotonic_now_ns(); now < end && goes_on(); now = monotonic_now_ns())
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(end - now, kNap)));
}

ChurnReport Churn::run() {
  while (goes_on()) {
    step();
    if (monotonic_now_ns() - told_ns_ > kTell && !report_.complaints.empty()) {
      told_ns_ = monotonic_now_ns();
      if (listener_.so_far) listener_.so_far(report_);
    }
    pause();
  }
  return report_;
}

}  // namespace

std::string format_churn(const ChurnReport& report) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", static_cast<double>(report.longest_ns) / 1e9);
  std::string out = cat("steps ", report.steps, ", longest call ", seconds, " s");
  for (const auto& [kind, count] : report.complaints)
    out += cat(", ", kind, count == 1 ? " once" : cat(" ", count, " times"));
  return out + "\n";
}

ChurnReport run_churn(const ChurnOptions& options, const std::atomic<bool>& stop, const ChurnListener& listener) {
  return Churn(options, stop, listener).run();
}

}  // namespace culprit
