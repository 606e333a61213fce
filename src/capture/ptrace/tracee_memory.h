// Memory of a traced process, read without PTRACE_PEEKDATA: a path, a vector of buffers, a socket address.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace culprit {

// How many of the `size` bytes at `address` could be read, from the first on.
size_t read_memory(pid_t thread, uint64_t address, void* out, size_t size);
// Up to its end, or to `limit` bytes; "" when nothing can be read.
std::string read_string(pid_t thread, uint64_t address, size_t limit);
// The sum of the lengths in a vector of buffers; of a long vector the first 16 only. 0 when it cannot be read.
uint64_t vector_bytes(pid_t thread, uint64_t vector, uint64_t count);
// Likewise of the vector in a struct msghdr.
uint64_t message_bytes(pid_t thread, uint64_t message);
// "10.0.0.7:24007" as in endpoint_text(); "" when there is none. `family` is set when the address could be read.
std::string read_endpoint(pid_t thread, uint64_t address, uint64_t length, int& family);

}  // namespace culprit
