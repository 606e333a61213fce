// What kind of call is this? Its name, what it moves, and whether it begins a process, whichever way it was made.
#pragma once

#include <string>
#include <string_view>

#include "calls/call.h"
#include "calls/syscalls.h"

namespace culprit {

std::string label_of(const Call& call);  // "pwrite64", "aio_pwrite", "uring_read"
Transfer transfer_of(const Call& call);

bool is_named(const Call& call, std::string_view name);  // as a system call, not as a completion
bool is_exec(const Call& call);
bool is_network(const Call& call);

// What a process does first when it begins: in a forked child the C library's list of locks (a new thread makes one,
// too), after exec its heap.
bool begins_process(const Call& call);

bool only_peeks(const Call& call);  // data that stay in the socket are not read yet

}  // namespace culprit
