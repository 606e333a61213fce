#include "lab/lab_fs.h"
namespace culprit {
extern const LabFs lab_directory;
const LabFs lab_directory = {.name = "directory"};
}  // namespace culprit
