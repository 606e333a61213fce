// On which device a folder is, as the kernel's file systems have it and the probes see it. stat(2) will not do: a file
// system such as btrfs shows programs another number for each of its volumes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit {

// `folder` is named as process `viewer` sees it; nullopt when it is not there. The number is as in call.h.
std::optional<uint64_t> storage_device(pid_t viewer, const std::string& folder);
// Its path without symbolic links, which is how descriptors show it; "" when it is not there.
std::string real_folder(pid_t viewer, const std::string& folder);

// The parsers, for the tests: texts of /proc/PID/fdinfo/FD and /proc/PID/mountinfo.
std::optional<int64_t> parse_fdinfo_mount(std::string_view fdinfo);
std::optional<uint64_t> device_of_mount(std::string_view mountinfo, int64_t mount);

}  // namespace culprit
