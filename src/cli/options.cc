// What did the user ask for? Reads a command line by the option rows of a command.
// A parser of our own: option rows, one-sentence errors and "did you mean" are shorter than bending CLI11's messages.
#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"

namespace culprit {
namespace {

const Option* find_option(const CommandInfo& command, std::string_view name) {
  for (const Option& option : command.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

Error wrong_usage(const CommandInfo& command, std::string what, std::string hint = "") {
  if (hint.empty()) hint = cat("culprit help ", command.name);
  return usage_error(std::move(what), std::move(hint));
}

Error unknown_option(const CommandInfo& command, std::string_view word) {
  std::vector<std::string> known{"help"};
  for (const Option& option : command.options) known.emplace_back(option.name);
  std::string_view name = word.substr(word.find_first_not_of('-'));
  std::string near = did_you_mean(name, known);
  return wrong_usage(command, cat("culprit ", command.name, " has no option ", printable(word)),
                     near.empty() ? "" : cat("did you mean --", near, "?"));
}

// The words of one command line, taken one by one.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool more() const { return next_ < words_.size(); }
  const std::string& peek() const { return words_[next_]; }
  const std::string& take() { return words_[next_++]; }

 private:
  const std::vector<std::string>& words_;
  size_t next_ = 0;
};

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_not_of('-') != std::string_view::npos &&
         !parse_double(word);
}

Result<std::string> option_value(const CommandInfo& command, const Option& option,
                                 std::optional<std::string_view> attached, Words& words) {
  if (option.value.empty()) {
    if (attached) return wrong_usage(command, cat("--", option.name, " is a switch and takes no value"));
    return std::string();
  }
  if (attached) return std::string(*attached);
  if (!words.more() || words.peek().starts_with("--")) {
    return wrong_usage(command, cat("--", option.name, " needs a value"),
                       cat("write --", option.name, " ", option.value));
  }
  return words.take();
}

Status check_positionals(const CommandInfo& command, const std::vector<std::string>& given) {
  size_t required = 0;
  bool any_number = false;
  for (const Positional& positional : command.positionals) {
    if (positional.required && required == given.size()) {
      return wrong_usage(command, cat(positional.name, " is missing: ", positional.help));
    }
    if (positional.required) ++required;
    any_number = any_number || positional.repeated;
  }
  if (!any_number && given.size() > command.positionals.size()) {
    return wrong_usage(command, cat("nothing is expected at \"", printable(given[command.positionals.size()]), "\""));
  }
  return Ok{};
}

Error named(std::string_view option, const Error& error) {
  return usage_error(cat("--", option, ": ", error.what), error.hint);
}

std::string shown(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Result<Args> parse_args(const CommandInfo& command, const std::vector<std::string>& word_list) {
  Args args;
  args.command_ = &command;
  Words words(word_list);
  bool options_ended = false;
  while (words.more()) {
    std::string_view word = words.take();
    if (options_ended || !(word == "--" || is_option(word))) {
      (options_ended && !command.rest.empty() ? args.rest : args.positionals).emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    size_t equals = word.find('=');
    std::optional<std::string_view> attached;
    if (equals != std::string_view::npos) attached = word.substr(equals + 1);
    const Option* option = word.starts_with("--") ? find_option(command, word.substr(2, equals - 2)) : nullptr;
    if (option == nullptr) return unknown_option(command, word.substr(0, equals));
    auto& values = args.values_[std::string(option->name)];
    if (!values.empty() && !option->repeated) {
      return wrong_usage(command, cat("--", option->name, " is given twice"));
    }
    ASSIGN_OR_RETURN(std::string value, option_value(command, *option, attached, words));
    values.push_back(std::move(value));
  }
  RETURN_IF_ERROR(check_positionals(command, args.positionals));
  for (const Option& option : command.options) {
    if (option.required && !args.has(option.name)) {
      return wrong_usage(command, cat("--", option.name, " ", option.value, " is missing: ", option.help));
    }
  }
  return args;
}

bool Args::has(std::string_view option) const {
  CHECK(find_option(*command_, option) != nullptr) << option << " is no option of " << command_->name;
  return values_.find(option) != values_.end();
}

std::string Args::get(std::string_view option) const {
  if (has(option)) return values_.find(option)->second.back();
  return std::string(find_option(*command_, option)->fallback);
}

std::vector<std::string> Args::all(std::string_view option) const {
  if (has(option)) return values_.find(option)->second;
  std::string fallback = get(option);
  return fallback.empty() ? std::vector<std::string>{} : std::vector<std::string>{fallback};
}

std::optional<std::string> Args::given(std::string_view option) const {
  if (!has(option)) return std::nullopt;
  return get(option);
}

Result<int64_t> Args::integer(std::string_view option, int64_t low, int64_t high) const {
  std::string text = get(option);
  std::optional<int64_t> number = parse_int(text);
  if (!number || *number < low || *number > high) {
    return usage_error(
        cat("--", option, " must be a whole number from ", low, " to ", high, ", not \"", printable(text), "\""));
  }
  return *number;
}

Result<double> Args::number(std::string_view option, double low, double high) const {
  std::string text = get(option);
  std::optional<double> number = parse_double(text);
  if (!number || *number < low || *number > high) {
    return usage_error(cat("--", option, " must be a number from ", shown(low), " to ", shown(high), ", not \"",
                           printable(text), "\""));
  }
  return *number;
}

Result<int64_t> Args::duration(std::string_view option) const {
  Result<int64_t> ns = parse_duration(get(option));
  if (!ns) return named(option, ns.error());
  return ns;
}

Result<int64_t> Args::bytes(std::string_view option) const {
  Result<int64_t> bytes = parse_bytes(get(option));
  if (!bytes) return named(option, bytes.error());
  return bytes;
}

}  // namespace culprit
