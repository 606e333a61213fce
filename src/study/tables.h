// Tallies as people read them: aligned tables of Markdown, which a terminal shows as well as a page does. And as
// programs do: JSON that says the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "study/sweep.h"
#include "study/tally.h"
#include "study/tally_pairs.h"

namespace culprit {

struct Grid {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it
  size_t words = 1;  // the first columns are words, the others are numbers
};

std::string grid_text(const Grid& grid);  // nothing when it has no rows

enum class By { fault_and_workload, fault, workload, cell };

std::string tally_text(const Tally& tally, By by, bool with_paper);
std::string discards_text(const Discards& discards);
std::string sweep_text(const std::vector<SweepRow>& rows);
std::string pairs_text(const RunPairs& pairs);

// Whole documents, with a line break.
std::string tallies_json(const std::vector<Tally>& tallies, const Discards& discards, bool with_paper);
std::string sweep_json(const std::vector<SweepRow>& rows);
std::string pairs_json(const RunPairs& pairs);

}  // namespace culprit
