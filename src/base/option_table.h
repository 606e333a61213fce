// The options of culprit-node's commands: each command has a table of them, and all tables are read the same way.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace culprit {

template <typename Options>
struct OptionRow {
  std::string_view name;   // "--file"
  std::string_view value;  // "PATH"; "" when it takes none
  std::string_view help;
  Status (*set)(Options& options, std::string_view value);
};

template <typename Options>
Result<const OptionRow<Options>*> find_option(std::span<const OptionRow<Options>> table, std::string_view name,
                                              std::string_view hint) {
  std::vector<std::string> names;
  for (const OptionRow<Options>& row : table) {
    if (row.name == name) return &row;
    names.emplace_back(row.name);
  }
  std::string meant = did_you_mean(name, names);
  return usage_error(cat("unknown option '", printable(name), "'"),
                     meant.empty() ? std::string(hint) : cat("did you mean ", meant, "?"));
}

// "--file PATH" and "--file=PATH". `hint` tells where the options are listed.
template <typename Options, size_t N>
Status read_options(const OptionRow<Options> (&table)[N], const std::vector<std::string>& arguments,
                    std::string_view hint, Options& options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i], value;
    size_t equals = name.find('=');
    bool has_value = equals != std::string_view::npos;
    if (has_value) value = name.substr(equals + 1);
    name = name.substr(0, equals);
    ASSIGN_OR_RETURN(const OptionRow<Options>* row, find_option<Options>(table, name, hint));
    if (row->value.empty() && has_value) return usage_error(cat("option ", name, " takes no value"), std::string(hint));
    if (!row->value.empty() && !has_value) {
      if (i + 1 == arguments.size())
        return usage_error(cat("option ", name, " needs a value"), cat("write ", name, " ", row->value));
      value = arguments[++i];
    }
    RETURN_IF_ERROR(row->set(options, value));
  }
  return Ok{};
}

// A line of --help.
inline std::string help_row(std::string left, std::string_view right) {
  left.resize(24, ' ');
  return cat("  ", left, right, "\n");
}

template <typename Options, size_t N>
std::string options_help(const OptionRow<Options> (&table)[N]) {
  std::string out;
  for (const OptionRow<Options>& row : table)
    out += help_row(cat(row.name, row.value.empty() ? "" : " ", row.value), row.help);
  return out;
}

}  // namespace culprit
