// The null member: takes the whole way through journal, lease and undo, and changes nothing.
#include "inject/fault.h"

namespace culprit {

extern const FaultInfo fault_none;
const FaultInfo fault_none = {
    .name = "none",
    .summary = "nothing: for tests, and for control runs that go the same way",
};

}  // namespace culprit
