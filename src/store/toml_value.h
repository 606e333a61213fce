// A TOML file as plain values that know their line, for readers that refuse every key they do not know. toml++ itself
// stays inside toml_value.cc and cluster_file.cc: it is a second or more of compile time per file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit {

struct TomlEntry;

struct TomlValue {
  enum class Kind { text, integer, number, boolean, list, table, other };
  Kind kind = Kind::other;
  int64_t line = 0;
  std::string text;
  int64_t integer = 0;
  double number = 0;  // also of an integer
  bool boolean = false;
  std::vector<TomlValue> list;
  std::vector<TomlEntry> table;  // in the order of the keys

  const TomlValue* find(std::string_view key) const;
};

struct TomlEntry {
  std::string name;
  TomlValue value;
};

Result<TomlValue> parse_toml(std::string text, const std::string& name_for_errors);

// toml++ 3.3 runs into undefined behaviour when it looks whether a character beyond ASCII is a blank, so it gets none:
// in comments they are overwritten, elsewhere they are an error. Returns the line of that, 0 when all is well.
int64_t make_toml_ascii(std::string& text);

}  // namespace culprit
