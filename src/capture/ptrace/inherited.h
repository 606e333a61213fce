// What this process was started with and changes for itself while it captures. A command that it starts gets the
// former, as if the user had started it himself.
#pragma once

namespace culprit {

// Whoever ignores SIGCHLD (it may be inherited) is not told how what he started or traces has ended; whoever wants it
// for stops gets one at every call. waitpid needs neither.
void quiet_sigchld();

// In a child between fork and exec: limit of descriptors, signals and their mask. What was ignored stays ignored
// (nohup); handlers are gone before the mask opens, or a signal that waits would end in one of ours.
void give_back_inherited();

}  // namespace culprit
