// The lab's network: a bridge in a namespace of its own, a link to each node, shaped both ways.
#pragma once

#include "lab/lab.h"

namespace culprit {

// The switch is no node of the cluster, but has a keeper like one.
LabNode switch_of(const Lab& lab);
Status make_network(const Lab& lab);

}  // namespace culprit
