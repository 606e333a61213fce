#include "inject/fault.h"

namespace culprit {

const FaultInfo* find_fault(std::string_view name) {
  for (const FaultInfo* fault : inject_faults()) {
    if (fault->name == name) return fault;
  }
  return nullptr;
}

}  // namespace culprit
