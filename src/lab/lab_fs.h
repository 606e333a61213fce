#pragma once
#include <span>
#include <string_view>
namespace culprit {
struct LabFs {
  std::string_view name;
};
std::span<const LabFs* const> lab_filesystems();
}  // namespace culprit
