#include "lab/lab_fs.h"
