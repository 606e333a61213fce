#include "vdisk/client.h"

namespace culprit {}  // namespace culprit
