#include "cli/inject/node_link.h"

#include <optional>

#include "base/text.h"
#include "hosts/deploy.h"
#include "hosts/runner.h"

namespace culprit {

namespace {

constexpr size_t kReadChunk = 1 << 20;  // of one turn
constexpr size_t kKeptStderr = 4096;    // enough to explain a failure
constexpr size_t kLongestLine = 65536;  // what is longer is no line of ours

class ChildLink : public NodeLink {
 public:
  ChildLink(std::unique_ptr<Runner> runner, std::shared_ptr<const Program> program, Child child, bool sends)
      : runner_(std::move(runner)), program_(std::move(program)), child_(std::move(child)) {
    if (sends) deploy_.emplace(program_->machine);
  }

  void add_polls(std::vector<pollfd>& fds) const override {
    if (child_.out.valid()) fds.push_back({child_.out.get(), POLLIN, 0});
    if (child_.err.valid()) fds.push_back({child_.err.get(), POLLIN, 0});
    bool writes = uploading_ || (!deploy_ && !to_send_.empty());
    if (child_.in.valid() && writes) fds.push_back({child_.in.get(), POLLOUT, 0});
  }

  void turn(std::vector<std::string>& lines) override {
    read_errors();
    read_output(lines);
    write();
    if (!child_.out.valid() && !ended_) ended_ = !child_.running();
    if (ended_) read_errors();
  }

  void send(std::string_view line) override {
    to_send_ += line;
    write();
  }
  void finish() override {
    finish_ = true;
    write();
  }
  bool ended() const override { return ended_; }
  Error why() const override;
  bool same_clock() const override { return runner_->same_machine(); }

 private:
  void read_errors();
  void read_output(std::vector<std::string>& lines);
  void write();
  void upload();

  std::unique_ptr<Runner> runner_;
  std::shared_ptr<const Program> program_;
  Child child_;
  std::optional<DeployReader> deploy_;  // until our program runs there
  Error deploy_failed_ = {};
  bool uploading_ = false;
  size_t upload_at_ = 0;
  std::string to_send_;
  bool finish_ = false;
  std::string output_;
  std::string errors_;
  bool ended_ = false;
};

void ChildLink::read_errors() {
  if (!child_.err.valid()) return;
  if (read_available(child_.err.get(), errors_, errors_.size() + kReadChunk) == ReadState::ended) child_.err.reset();
  if (errors_.size() > kKeptStderr) errors_.erase(0, errors_.size() - kKeptStderr);
}

void ChildLink::read_output(std::vector<std::string>& lines) {
  if (!child_.out.valid()) return;
  if (read_available(child_.out.get(), output_, output_.size() + kReadChunk) == ReadState::ended) child_.out.reset();
  if (deploy_) {
    auto state = deploy_->read(output_);
    if (!state) deploy_failed_ = state.error();
    if (!state) child_.in.reset();  // the script then ends
    if (state && *state == DeployReader::State::send) uploading_ = true;
    if (!state || *state != DeployReader::State::running) return;
    deploy_.reset();
  }
  for (size_t end = output_.find('\n'); end != std::string::npos; end = output_.find('\n')) {
    lines.push_back(output_.substr(0, end));
    output_.erase(0, end + 1);
  }
  if (output_.size() > kLongestLine) output_.clear();
}

void ChildLink::upload() {
  auto bytes = program_->block(upload_at_);
  auto n = bytes ? write_some(child_.in.get(), *bytes) : Result<size_t>(bytes.error());
  if (!n) child_.in.reset();  // the script then ends, and its end says why
  if (n) upload_at_ += *n;
  uploading_ = n.ok() && upload_at_ < program_->size;
}

void ChildLink::write() {
  if (child_.in.valid() && uploading_) return upload();
  if (!child_.in.valid() || deploy_) return;
  auto n = write_some(child_.in.get(), to_send_);
  if (n) to_send_.erase(0, *n);
  if (!n || (finish_ && to_send_.empty())) child_.in.reset();
}

Error ChildLink::why() const {
  if (!deploy_failed_.what.empty()) return deploy_failed_;
  Error way = runner_->explain(child_.exit_code(), errors_);
  if (!way.what.empty() || child_.exit_code() == 0) return way;
  bool killed = child_.exit_code() > 128;
  Error error = killed ? system_error(cat("culprit-node was killed by signal ", child_.exit_code() - 128), 0)
                       : explain_deploy(child_.exit_code(), errors_);
  error.what = cat(runner_->name(), ": ", error.what);
  return error;
}

Result<std::unique_ptr<NodeLink>> start(const Node& node, std::vector<std::string> arguments,
                                        const std::shared_ptr<const Program>& program) {
  ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, make_runner(node));
  bool sends = !runner->same_machine() && node.sampler.empty();
  std::vector<std::string> command;
  if (sends) {
    command = deploy_command(*program, arguments);
  } else {
    command = std::move(arguments);
    command.insert(command.begin(), node.sampler.empty() ? program->path : node.sampler);
  }
  ASSIGN_OR_RETURN(Child child, Child::start(runner->argv(command)));
  return std::unique_ptr<NodeLink>(std::make_unique<ChildLink>(std::move(runner), program, std::move(child), sends));
}

}  // namespace

Result<StartLink> make_start_link() {
  ASSIGN_OR_RETURN(Program found, find_node_program());
  auto program = std::make_shared<const Program>(std::move(found));
  return StartLink([program](const Node& node, std::vector<std::string> arguments) {
    return start(node, std::move(arguments), program);
  });
}

}  // namespace culprit
