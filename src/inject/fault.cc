#include "inject/fault.h"

#include <cstdio>

#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

std::string_view text_of(const FaultPart& part, std::string_view name) {
  auto found = part.params.find(name);
  return found == part.params.end() ? std::string_view() : std::string_view(found->second);
}

std::string shown(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

Error out_of_range(const FaultPart& part, std::string_view name, const std::string& low, const std::string& high) {
  return usage_error(cat(part.fault, ": ", name, " cannot be '", printable(text_of(part, name)), "'"),
                     cat("it takes ", low, " to ", high));
}

}  // namespace

const FaultInfo* find_fault(std::string_view name) {
  for (const FaultInfo* fault : inject_faults()) {
    if (fault->name == name) return fault;
  }
  return nullptr;
}

std::string_view fault_class_name(FaultClass kind) {
  switch (kind) {
    case FaultClass::leased:
      return "leased";
    case FaultClass::restart:
      return "restart";
    case FaultClass::persistent:
      break;
  }
  return "persistent";
}

Result<double> number_param(const FaultPart& part, std::string_view name, double low, double high) {
  auto number = parse_double(text_of(part, name));
  if (number && *number >= low && *number <= high) return *number;
  return out_of_range(part, name, shown(low), shown(high));
}

Result<int64_t> bytes_param(const FaultPart& part, std::string_view name, int64_t low, int64_t high) {
  auto bytes = parse_bytes(text_of(part, name));
  if (bytes && *bytes >= low && *bytes <= high) return *bytes;
  return out_of_range(part, name, format_bytes(low), format_bytes(high));
}

Result<int64_t> duration_param(const FaultPart& part, std::string_view name, int64_t low_ns, int64_t high_ns) {
  auto ns = parse_duration(text_of(part, name));
  if (ns && *ns >= low_ns && *ns <= high_ns) return *ns;
  return out_of_range(part, name, format_duration(low_ns), format_duration(high_ns));
}

std::string word_param(const FaultPart& part, std::string_view name) {
  return std::string(text_of(part, name));
}

}  // namespace culprit
