#include "cli/analysis.h"

#include "base/text.h"

namespace culprit {

Status apply_parameters(const std::vector<std::string>& words, const DetectorInfo& detector, bool training,
                        Parameters& parameters) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto value =
        equals == std::string::npos ? std::nullopt : parse_double(std::string_view(word).substr(equals + 1));
    if (!value) return usage_error(cat("'", printable(word), "' is not a parameter"), "write it like --param k=3");
    std::string_view name = std::string_view(word).substr(0, equals);
    const std::string prefix = cat(detector.name, ".");
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());  // as culprit list parameters writes it
    for (const Parameter& row : detector.parameters)
      if (row.name == name && row.training && !training)
        return usage_error(cat("parameter ", name, " changes nothing here"), "give it to culprit train");
    RETURN_IF_ERROR(parameters.set(name, *value));
  }
  return Ok{};
}

}  // namespace culprit
