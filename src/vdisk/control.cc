#include "vdisk/control.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <vector>

#include "base/procfile.h"
#include "base/text.h"
#include "base/units.h"

namespace culprit {

namespace {

constexpr int64_t kMinDisk = int64_t{1} << 20;
constexpr int64_t kMaxDisk = int64_t{1} << 44;
constexpr int64_t kBlock = 4096;  // sizes are rounded up to it: no partial block at a device's end
constexpr int64_t kMinHidden = 4096;
constexpr int64_t kMaxHidden = 64 << 20;
constexpr double kMaxFactor = 1000;

// The words after the disk's name: plain ones in their order, then key=value in any order.
struct Words {
  std::vector<std::string_view> plain;
  std::map<std::string_view, std::string_view> keyed;
};

struct VerbRow {
  std::string_view name;
  DiskVerb verb;
  bool takes_disk;
  std::string_view usage;
  Status (*read)(const Words& words, DiskCommand& command);  // nullptr: no further words
  std::optional<Effect> effect = std::nullopt;
};

Result<double> number_between(const Words& words, std::string_view key, double low, double high) {
  auto found = words.keyed.find(key);
  if (found == words.keyed.end()) return usage_error(cat(key, "= is missing"));
  auto value = parse_double(found->second);
  if (!value || *value < low || *value > high)
    return usage_error(cat(key, "=", printable(found->second), " is not a number in its range"));
  return *value;
}

Status read_for(const Words& words, DiskCommand& command) {
  auto found = words.keyed.find("for");
  if (found == words.keyed.end())
    return usage_error("for= is missing",
                       "every effect needs a time after which it ends by itself, for example for=10s");
  ASSIGN_OR_RETURN(command.for_ns, parse_duration(found->second));
  if (command.for_ns <= 0 || command.for_ns > kMaxEffectNs)
    return usage_error(cat("for=", printable(found->second), " is not between 0 and 1 h"), "ask again to prolong it");
  return Ok{};
}

Status read_hidden(const Words& words, DiskCommand& command) {
  auto share = number_between(words, "share", 0.001, kMaxHiddenShare);
  if (!share)
    return usage_error(share.error().what, cat("the share of the spindle's time, 0.001 to 0.95; hang stops it all"));
  command.hidden.share = *share;
  if (auto size = words.keyed.find("size"); size != words.keyed.end()) {
    ASSIGN_OR_RETURN(command.hidden.bytes, parse_bytes(size->second));
    if (command.hidden.bytes < kMinHidden || command.hidden.bytes > kMaxHidden)
      return usage_error(cat("size=", printable(size->second), " is not between 4096 bytes and 64 MiB"));
  }
  return read_for(words, command);
}

Status read_slow(const Words& words, DiskCommand& command) {
  auto factor = number_between(words, "factor", 1, kMaxFactor);
  if (!factor) return usage_error(factor.error().what, "how many times longer a request takes, 1 to 1000");
  command.factor = *factor;
  return read_for(words, command);
}

Status read_flaky(const Words& words, DiskCommand& command) {
  auto probability = number_between(words, "probability", 0, 1);
  if (!probability) return usage_error(probability.error().what, "the probability that a request fails, 0 to 1");
  command.probability = *probability;
  if (auto seed = words.keyed.find("seed"); seed != words.keyed.end()) {
    std::string_view text = seed->second;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), command.seed);
    if (error != std::errc() || end != text.data() + text.size())
      return usage_error(cat("seed=", printable(text), " is not a whole number of 64 bits"));
  }
  return read_for(words, command);
}

Status read_add(const Words& words, DiskCommand& command) {
  if (words.plain.empty()) return usage_error("the size is missing");
  ASSIGN_OR_RETURN(int64_t size, parse_bytes(words.plain[0]));
  if (size < kMinDisk || size > kMaxDisk)
    return usage_error(cat("a disk of ", printable(words.plain[0]), " is not between 1 MiB and 16 TiB"));
  command.size = (size + kBlock - 1) / kBlock * kBlock;
  if (words.plain.size() > 1) {
    ASSIGN_OR_RETURN(command.model, parse_disk_model(words.plain[1]));
  }
  return Ok{};
}

Status read_model(const Words& words, DiskCommand& command) {
  if (words.plain.empty()) return usage_error("the model is missing", "a preset, or numbers like rate=15MB,seek=4ms");
  ASSIGN_OR_RETURN(command.model, parse_disk_model(words.plain[0]));
  return Ok{};
}

Status read_heal(const Words& words, DiskCommand& command) {
  if (words.plain.empty()) return Ok{};
  command.effect = find_effect(words.plain[0]);
  if (!command.effect)
    return usage_error(cat("there is no effect '", printable(words.plain[0]), "'"),
                       "effects: hidden, slow, flaky, fail, hang; without a word all are healed");
  return Ok{};
}

const VerbRow kVerbs[] = {
    {"list", DiskVerb::list, false, "list", nullptr},
    {"add", DiskVerb::add, true, "add NAME SIZE [MODEL]", read_add},
    {"remove", DiskVerb::remove, true, "remove NAME", nullptr},
    {"status", DiskVerb::status, true, "status NAME", nullptr},
    {"model", DiskVerb::model, true, "model NAME PRESET|rate=RATE,seek=TIME", read_model},
    {"hidden", DiskVerb::effect, true, "hidden NAME share=F [size=BYTES] for=TIME", read_hidden, Effect::hidden},
    {"slow", DiskVerb::effect, true, "slow NAME factor=F for=TIME", read_slow, Effect::slow},
    {"flaky", DiskVerb::effect, true, "flaky NAME probability=P [seed=N] for=TIME", read_flaky, Effect::flaky},
    {"fail", DiskVerb::effect, true, "fail NAME for=TIME", read_for, Effect::fail},
    {"hang", DiskVerb::effect, true, "hang NAME for=TIME", read_for, Effect::hang},
    {"heal", DiskVerb::heal, true, "heal NAME [EFFECT]", read_heal},
    {"counters", DiskVerb::counters, true, "counters NAME", nullptr},
    {"snapshot", DiskVerb::snapshot, true, "snapshot NAME", nullptr},
    {"restore", DiskVerb::restore, true, "restore NAME", nullptr},
    {"quit", DiskVerb::quit, false, "quit", nullptr},
};

Result<const VerbRow*> find_verb(std::string_view word) {
  std::vector<std::string> names;
  for (const VerbRow& row : kVerbs) {
    if (row.name == word) return &row;
    names.emplace_back(row.name);
  }
  std::string near = did_you_mean(word, names);
  return usage_error(cat("there is no command '", printable(word), "'"),
                     near.empty() ? cat("commands: ", join(names, ", ")) : cat("did you mean ", near, "?"));
}

// How many plain words, and which keys, a line may have is what its usage shows: the usage is the grammar.
Status check_words(const VerbRow& row, const Words& words) {
  std::string_view usage = row.usage;
  size_t plain = 0;
  std::vector<std::string_view> keys;
  while (true) {
    std::string_view word = next_word(usage);
    if (word.empty()) break;
    if (word.front() == '[') word.remove_prefix(1);
    size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.find('|') == std::string_view::npos)
      keys.push_back(word.substr(0, equals));
    else
      ++plain;
  }
  plain -= row.takes_disk ? 2 : 1;
  if (words.plain.size() > plain) return usage_error(cat("'", printable(words.plain[plain]), "' is one word too many"));
  for (const auto& [key, value] : words.keyed)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return usage_error(cat("there is no ", printable(key), "= in it"));
  return Ok{};
}

Result<Words> read_words(const VerbRow& row, std::string_view rest) {
  Words words;
  bool model_word = row.verb == DiskVerb::add || row.verb == DiskVerb::model;  // rate=..,seek=.. is one plain word
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    size_t equals = word.find('=');
    if (model_word || equals == std::string_view::npos)
      words.plain.push_back(word);
    else if (!words.keyed.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      return usage_error(cat(printable(word.substr(0, equals)), "= is there twice"));
  }
  return words;
}

Error with_usage(Error error, const VerbRow& row) {
  if (error.hint.empty()) error.hint = cat("write it like: ", row.usage);
  return error;
}

Status read_rest(const VerbRow& row, std::string_view rest, DiskCommand& command) {
  if (row.takes_disk) {
    std::string_view name = next_word(rest);
    if (name.empty()) return usage_error("the disk's name is missing");
    if (!valid_disk_name(name))
      return usage_error(cat("'", printable(name), "' cannot be a disk's name"),
                         "letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit");
    command.disk = name;
  }
  ASSIGN_OR_RETURN(Words words, read_words(row, rest));
  RETURN_IF_ERROR(check_words(row, words));
  return row.read ? row.read(words, command) : Status(Ok{});
}

}  // namespace

bool valid_disk_name(std::string_view name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 64 || !plain(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

Result<DiskCommand> parse_disk_command(std::string_view line) {
  if (line.size() > kMaxControlLine) return usage_error(cat("a line has at most ", kMaxControlLine, " bytes"));
  if (line.find('\0') != std::string_view::npos) return usage_error("the line holds a zero byte");
  std::string_view rest = line;
  std::string_view word = next_word(rest);
  if (word.empty()) return usage_error("the line is empty", "try list");
  ASSIGN_OR_RETURN(const VerbRow* row, find_verb(word));
  DiskCommand command;
  command.verb = row->verb;
  command.effect = row->effect;
  if (auto status = read_rest(*row, rest, command); !status) return with_usage(std::move(status).error(), *row);
  return command;
}

std::string format_disk_error(const Error& error) {
  std::string line = cat("error ", printable(error.message(), kMaxControlLine));
  if (!error.hint.empty()) line += cat(" hint: ", printable(error.hint, kMaxControlLine));
  return line;
}

Error parse_disk_error(std::string_view line) {
  constexpr std::string_view kStart = "error ", kHint = " hint: ";
  if (line.starts_with(kStart)) line.remove_prefix(kStart.size());
  size_t hint = line.rfind(kHint);
  if (hint == std::string_view::npos) return input_error(std::string(line));
  return input_error(std::string(line.substr(0, hint)), std::string(line.substr(hint + kHint.size())));
}

}  // namespace culprit
