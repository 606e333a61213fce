// A culprit-node that is started on a node for an injection: here, in a namespace or through ssh, where it is sent
// first, as the sampler is.
#pragma once

#include "inject/controller.h"

namespace culprit {

// How all nodes of a cluster are reached. The program is looked for once.
Result<StartLink> make_start_link();

}  // namespace culprit
