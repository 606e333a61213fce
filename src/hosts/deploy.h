// How our static sampler gets to another machine: within the one ssh connection that then carries its stream.
// A small shell script looks whether the file named by the content's hash is there, asks for the bytes if not, and
// turns into the sampler. So the sampler is always of this version, is sent once per node and version, and hundreds of
// nodes can be started at once without a second connection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace culprit {

// A program file of ours, ready to be sent. It stays open, so that what is sent is what was hashed, also when the file
// is replaced during a recording.
struct Program {
  std::string path;
  Fd file;
  size_t size = 0;
  std::string file_name;  // culprit-node-HASH
  std::string machine;    // as `uname -m` prints it here: "x86_64"

  // At most a block of the bytes from `offset` on; "" at the end.
  Result<std::string> block(size_t offset) const;
};

// culprit-node beside our own executable, or in ../libexec. `exe_folder` "" is the folder of /proc/self/exe.
Result<Program> find_node_program(std::string exe_folder = "");
Result<Program> open_program(const std::string& path);

// The command to run on the node: the script with its words.
std::vector<std::string> deploy_command(const Program& program, const std::vector<std::string>& arguments);

// Reads the script's answers from the start of the child's output. What follows the last one is the sampler's.
class DeployReader {
 public:
  explicit DeployReader(std::string machine) : machine_(std::move(machine)) {}

  enum class State { waiting, send, running };
  // Takes the lines that are complete off `bytes`. State send: write the program's bytes to stdin, once.
  // Lines before the first answer are somebody's greeting (a .bashrc that prints) and are skipped.
  Result<State> read(std::string& bytes);
  const std::string& skipped() const { return skipped_; }  // the beginning of those lines

 private:
  std::string machine_;
  State state_ = State::waiting;
  std::string skipped_;
};

// What went wrong on the node after the connection stood, from the script's or the sampler's exit code and stderr.
Error explain_deploy(int exit_code, std::string_view err);

}  // namespace culprit
