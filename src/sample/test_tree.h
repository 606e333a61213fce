// For tests: a scratch copy of a fixture tree, or an empty one, that can be changed between two ticks.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sample/collector.h"

namespace culprit {

inline std::string fixture(const std::string& name) {
  return CULPRIT_SOURCE_DIR "/tests/fixtures/proc/" + name;
}

class TestTree {
 public:
  explicit TestTree(const std::string& copy_of = "") {
    std::string pattern = (std::filesystem::temp_directory_path() / "culprit-test-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks;
    if (!copy_of.empty()) std::filesystem::copy(fixture(copy_of), root_, options);
  }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;
  ~TestTree() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  // Overwrites in place, so that files that are open see it.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary | std::ios::trunc) << text;
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }

 private:
  std::string root_;
};

inline std::unique_ptr<Collector> make_collector(std::string_view name, const SampleEnv& env, KeyCounter& keys) {
  for (const CollectorInfo* info : sample_collectors())
    if (info->name == name) return info->make(env, keys);
  return nullptr;
}

}  // namespace culprit
