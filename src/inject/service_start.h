// Starts a daemon so that it lives on without us: a session of its own, no streams, as it ran before.
#pragma once

#include "inject/service.h"

namespace culprit {

// Returns when the program runs (or an error when it could not be run); whether it stays is for the caller to see.
Status start_service(const Service& service);

}  // namespace culprit
