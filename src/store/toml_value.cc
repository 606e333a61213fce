#include "store/toml_value.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) static_cast<void>(0)  // a hostile file must end in an error value, never in abort()
#include <toml++/toml.h>

#include "base/text.h"

namespace culprit {

namespace {

constexpr size_t kMostBytes = 1'000'000;
constexpr int kDeepest = 16;

bool beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

void convert(const toml::node& node, int depth, TomlValue& out) {
  using Kind = TomlValue::Kind;
  out.line = static_cast<int64_t>(node.source().begin.line);
  if (depth > kDeepest) return;  // stays `other`, which no reader takes
  if (const auto* text = node.as_string()) {
    out.kind = Kind::text;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Kind::integer;
    out.integer = integer->get();
    out.number = static_cast<double>(out.integer);
  } else if (const auto* number = node.as_floating_point()) {
    out.kind = Kind::number;
    out.number = number->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Kind::boolean;
    out.boolean = boolean->get();
  } else if (const auto* list = node.as_array()) {
    out.kind = Kind::list;
    for (const toml::node& item : *list) convert(item, depth + 1, out.list.emplace_back());
  } else if (const auto* table = node.as_table()) {
    out.kind = Kind::table;
    for (const auto& [key, value] : *table)
      convert(value, depth + 1, out.table.emplace_back(TomlEntry{std::string(key.str()), {}}).value);
  }
}

}  // namespace

int64_t make_toml_ascii(std::string& text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const bool long_texts = text.find("\"\"\"") != std::string::npos || text.find("'''") != std::string::npos;
  int64_t line = 1;
  char quote = 0;  // the one that is open
  bool comment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char& c = text[i];
    if (c == '\n') {
      ++line;
      quote = 0;
      comment = false;
    } else if (beyond_ascii(c)) {
      if (!comment || long_texts) return line;  // in a long text what looks like a comment may be none
      c = '?';
    } else if (!comment && quote != 0) {
      if (c == '\\' && quote == '"' && i + 1 < text.size() && text[i + 1] != '\n' && !beyond_ascii(text[i + 1])) ++i;
      if (c == quote) quote = 0;
    } else if (!comment) {
      comment = c == '#';
      if (c == '"' || c == '\'') quote = c;
    }
  }
  return 0;
}

const TomlValue* TomlValue::find(std::string_view key) const {
  for (const auto& [name, value] : table)
    if (name == key) return &value;
  return nullptr;
}

Result<TomlValue> parse_toml(std::string text, const std::string& name_for_errors) {
  if (text.size() > kMostBytes) return input_error(cat(name_for_errors, " is too large"));
  if (int64_t line = make_toml_ascii(text); line != 0)
    return input_error(cat(name_for_errors, ", line ", line, ": a character beyond ASCII is not in a comment"),
                       "in a text write it by its number, like \\u00e9");
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.failed())
    return input_error(cat(name_for_errors, ", line ", parsed.error().source().begin.line, ": ",
                           printable(std::string(parsed.error().description()), 200)));
  TomlValue out;
  convert(parsed.table(), 0, out);
  return out;
}

}  // namespace culprit
