#include "study/tables.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "base/units.h"
#include "study/campaign_folder.h"
#include "study/judge.h"
#include "study/paper.h"
#include "study/tally_interval.h"

namespace culprit {

namespace {

using Cells = std::vector<std::string>;

std::string digits(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

// "77.3 (72.3-81.7)": per cent and its interval.
std::string share_text(int hits, int of) {
  if (of == 0) return "-";
  const Interval sure = wilson(hits, of);
  return cat(digits(100.0 * hits / of, 1), " (", digits(100 * sure.low, 1), "-", digits(100 * sure.high, 1), ")");
}

// Names come from files: nothing in them may move the terminal's cursor or end a cell.
std::string cell_text(const std::string& text) {
  std::string out = printable(text, 120);
  std::replace(out.begin(), out.end(), '|', '/');
  return out;
}

Cells score_cells(const Scores& s) {
  return {s.name,
          cat(s.runs),
          share_text(s.itp, s.faulty),
          share_text(s.ifp, s.runs),
          share_text(s.dtp, s.caused),
          share_text(s.dfp, s.runs),
          share_text(s.undecided, s.runs)};
}

Grid score_grid(std::string title, const char* first, const std::vector<Scores>& scores, const Scores& total) {
  Grid grid{std::move(title), {first, "runs", "ITP %", "IFP %", "DTP %", "DFP %", "undecided %"}, {}, ""};
  bool unnamed = false;
  for (const Scores& each : scores) {
    grid.rows.push_back(score_cells(each));
    unnamed |= each.caused < each.faulty;
  }
  grid.rows.push_back(score_cells(total));
  if (unnamed)
    grid.note = "DTP is not scored for faults that the checklist has no word for; their DFP counts wrong servers only.";
  return grid;
}

Grid control_grid(const Tally& tally) {
  Grid grid{"Controls: no fault, but they look odd. Any accusation is a false one.",
            {"workload", "runs", "IFP %", "undecided %"},
            {},
            ""};
  for (const Scores& s : tally.controls)
    grid.rows.push_back({s.name, cat(s.runs), share_text(s.ifp, s.runs), share_text(s.undecided, s.runs)});
  return grid;
}

Grid confusion_grid(const Tally& tally) {
  Cells causes{"disk-hog", "disk-busy", "network-hog", "packet-loss"};
  for (const Confusion& row : tally.confusion)  // a detector may have words of its own
    for (const auto& [cause, n] : row.named)
      if (cause != kNothing && cause != kUndecided && cause != kOtherServer &&
          std::find(causes.begin(), causes.end(), cause) == causes.end())
        causes.push_back(cause);
  std::sort(causes.begin() + 4, causes.end());
  for (std::string_view each : {kNothing, kUndecided, kOtherServer}) causes.emplace_back(each);
  Grid grid{"What the fault was taken for (runs)", {"fault"}, {}, ""};
  grid.header.insert(grid.header.end(), causes.begin(), causes.end());
  for (const Confusion& row : tally.confusion) {
    Cells cells{row.fault};
    for (const std::string& cause : causes) {
      auto found = row.named.find(cause);
      cells.push_back(found == row.named.end() ? "." : cat(found->second));
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid latency_grid(const Tally& tally) {
  Grid grid{"Seconds from the injection until a watcher would have known",
            {"fault", "interval", "found", "10 %", "median", "90 %", "before"},
            {},
            "before: the victim was accused before the injection and ever since; not among the times.",
            2};
  for (const Latency& row : tally.latency) {
    Cells cells{row.fault, format_duration(row.interval_ns), cat(static_cast<int>(row.seconds.size()) + row.early)};
    for (double q : {0.1, 0.5, 0.9}) cells.push_back(row.seconds.empty() ? "-" : digits(quantile(row.seconds, q), 1));
    cells.push_back(cat(row.early));
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

Grid alarm_grid(const Tally& tally) {
  Grid grid{"False alarms", {"runs without a fault", "runs", "accusations", "server-hours", "per server-hour"}, {}, ""};
  for (const Alarms* alarms : {&tally.fault_free, &tally.control}) {
    if (alarms->runs == 0) continue;
    const Interval sure = poisson(alarms->accusations);
    const double hours = alarms->server_hours;
    const std::string rate = hours > 0 ? cat(digits(alarms->accusations / hours, 2), " (", digits(sure.low / hours, 2),
                                             "-", digits(sure.high / hours, 2), ")")
                                       : "-";
    grid.rows.push_back({alarms->name, cat(alarms->runs), cat(alarms->accusations), digits(hours, 2), rate});
  }
  return grid;
}

struct Measure {
  const char* name;
  int Scores::*hits;
  int Scores::*of;
  double PaperRow::*paper;
};

constexpr Measure kMeasures[] = {{"ITP", &Scores::itp, &Scores::faulty, &PaperRow::itp},
                                 {"IFP", &Scores::ifp, &Scores::runs, &PaperRow::ifp},
                                 {"DTP", &Scores::dtp, &Scores::caused, &PaperRow::dtp},
                                 {"DFP", &Scores::dfp, &Scores::runs, &PaperRow::dfp}};

const Scores* find_scores(const std::vector<Scores>& all, std::string_view name) {
  auto found = std::find_if(all.begin(), all.end(), [&](const Scores& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Cells paper_cells(const Measure& measure, const std::string& fault, const Scores* ours, size_t row) {
  Cells cells{fault, ours ? cat(ours->runs) : "-", ours ? share_text(ours->*measure.hits, ours->*measure.of) : "-"};
  for (const PaperTable& table : paper_tables())
    cells.push_back(digits((row < table.rows.size() ? table.rows[row] : table.aggregate).*measure.paper, 1));
  return cells;
}

// The paper's faults, but with parameters of a plan's own: another intensity is another experiment.
std::string not_the_papers(const Tally& tally) {
  std::string names;
  for (const Scores& scores : tally.by_fault)
    for (const std::string& fault : paper_faults())
      if (scores.name.starts_with(fault + " ")) names += cat(names.empty() ? "" : ", ", cell_text(scores.name));
  return names.empty() ? "" : cat("not in this table, because the plan gives them parameters: ", names);
}

// Ours beside the four tables. The aggregate is over the paper's faults only, or it would not be comparable.
std::string paper_text(const Tally& tally) {
  Scores total;
  for (const std::string& fault : paper_faults())
    if (const Scores* s = find_scores(tally.by_fault, fault))
      for (int Scores::*field :
           {&Scores::runs, &Scores::faulty, &Scores::caused, &Scores::itp, &Scores::ifp, &Scores::dtp, &Scores::dfp})
        total.*field += s->*field;
  std::string out;
  for (const Measure& measure : kMeasures) {
    Grid grid{cat(measure.name, " % beside the paper's (FAST'10, Tables 2 to 5: 50 runs of each)"),
              {"fault", "our runs", "ours"},
              {},
              not_the_papers(tally)};
    for (const PaperTable& table : paper_tables()) grid.header.emplace_back(table.name);
    for (size_t i = 0; i < paper_faults().size(); ++i)
      grid.rows.push_back(paper_cells(measure, paper_faults()[i], find_scores(tally.by_fault, paper_faults()[i]), i));
    grid.rows.push_back(paper_cells(measure, "aggregate", &total, paper_faults().size()));
    out += grid_text(grid);
  }
  return out;
}

std::string heading(const Tally& tally) {
  std::string out = cat("## ", printable(tally.method, 300), "\n\n");
  for (const auto& [campaign, runs] : tally.campaigns) out += cat("- ", cell_text(campaign), ": ", runs, " runs\n");
  for (const auto& [interval, runs] : tally.intervals)
    out += cat("- sampled every ", format_duration(interval), ": ", runs, " runs\n");
  if (tally.simulated) out += cat("- ", tally.simulated, " runs are simulated, which is no evidence of accuracy\n");
  return out + "- behind a share in brackets: its 95 % interval\n\n";
}

// "s3 disk-hog" of every accusation, or the answer.
std::string said(const Row& row) {
  if (row.accused.empty()) return row.answer;
  std::string out;
  for (const RowAccusation& accused : row.accused)
    out += cat(out.empty() ? "" : ", ", accused.server, " ", accused.cause);
  return out;
}

}  // namespace

std::string grid_text(const Grid& grid) {
  if (grid.rows.empty()) return "";
  std::vector<Cells> lines{grid.header};
  for (const Cells& row : grid.rows) lines.push_back(row);
  std::vector<size_t> widths(grid.header.size(), 3);
  for (Cells& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      line[i] = cell_text(line[i]);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string out = grid.title.empty() ? "" : cat("### ", grid.title, "\n\n");
  for (size_t n = 0; n < lines.size(); ++n) {
    for (size_t i = 0; i < lines[n].size(); ++i) {
      const std::string fill(widths[i] - lines[n][i].size(), ' ');
      out += i == 0 ? "| " : " ";
      out += i < grid.words ? lines[n][i] + fill : fill + lines[n][i];
      out += " |";
    }
    out += "\n";
    if (n > 0) continue;
    for (size_t i = 0; i < widths.size(); ++i)
      out += cat(i == 0 ? "|" : "", std::string(widths[i] + 1, '-'), i < grid.words ? "-|" : ":|");
    out += "\n";
  }
  return out + (grid.note.empty() ? "\n" : cat("\n", grid.note, "\n\n"));
}

std::string tally_text(const Tally& tally, By by, bool with_paper) {
  std::string out = heading(tally);
  const bool any = tally.total.runs > 0;
  if (any && (by == By::fault || by == By::fault_and_workload))
    out += grid_text(score_grid("Per fault", "fault", tally.by_fault, tally.total));
  if (any && (by == By::workload || by == By::fault_and_workload))
    out += grid_text(score_grid("Per workload", "workload", tally.by_workload, tally.total));
  if (any && by == By::cell) out += grid_text(score_grid("Per cell", "workload and fault", tally.by_cell, tally.total));
  out += grid_text(control_grid(tally));
  out += grid_text(confusion_grid(tally));
  out += grid_text(latency_grid(tally));
  out += grid_text(alarm_grid(tally));
  if (with_paper) out += paper_text(tally);
  return out;
}

std::string discards_text(const Discards& discards) {
  Grid grid{"Discarded attempts, decided before any verdict was looked at",
            {"set", "workload", "fault", "kept", "spoiled", "failed"},
            {},
            "",
            3};
  for (const DiscardCell& cell : discards.cells)
    grid.rows.push_back({std::string(name_of(cell.set)), cell.workload, cell.fault,
                         cell.set == RunSet::train ? "-" : cat(cell.kept), cat(cell.spoiled), cat(cell.failed)});
  const int all = discards.kept + discards.discarded;
  if (all > 0)
    grid.note = cat(discards.discarded, " of ", all, " attempts at scored and control runs were discarded (",
                    digits(100.0 * discards.discarded / all, 1), " %).");
  return grid_text(grid);
}

std::string sweep_text(const std::vector<SweepRow>& rows) {
  Grid grid{"One parameter at a time, the others as given",
            {"setting", "runs", "ITP %", "IFP %", "DTP %", "DFP %", "undecided %"},
            {},
            ""};
  for (const SweepRow& row : rows) {
    grid.rows.push_back(score_cells(row.scores));
    if (row.as_given && !row.setting.parameter.empty()) grid.rows.back()[0] += " (as given)";
    if (row.impossible.empty()) continue;
    std::fill(grid.rows.back().begin() + 1, grid.rows.back().end(), "-");
    grid.note = "-: cannot be had with these runs; a window or k that needs longer ones";
  }
  return grid_text(grid);
}

std::string pairs_text(const RunPairs& pairs) {
  const int n = static_cast<int>(pairs.pairs.size());
  auto same = [&](bool RunPair::*what) {
    return static_cast<int>(
        std::count_if(pairs.pairs.begin(), pairs.pairs.end(), [&](const RunPair& p) { return p.*what; }));
  };
  Grid counts{
      cat("Pairs of ", cell_text(pairs.a), " and ", cell_text(pairs.b)), {"the same", "pairs", "of", "%"}, {}, ""};
  const std::pair<const char*, int> kinds[] = {{"answer", same(&RunPair::same_answer)},
                                               {"accused servers", same(&RunPair::same_servers)},
                                               {"accused servers and causes", same(&RunPair::same_causes)}};
  for (const auto& [name, hits] : kinds) counts.rows.push_back({name, cat(hits), cat(n), share_text(hits, n)});
  if (pairs.only_a + pairs.only_b > 0)
    counts.note = cat("Without a partner: ", pairs.only_a, " of the first, ", pairs.only_b, " of the second.");

  std::vector<Row> left, right;
  Grid different{"Pairs that differ", {"run", "truth", "first", "second"}, {}, "", 4};
  for (const RunPair& pair : pairs.pairs) {
    left.push_back(pair.a);
    right.push_back(pair.b);
    const Experiment& truth = pair.a.truth;
    if (!pair.same())
      different.rows.push_back({truth.id, truth.victim.empty() ? truth.fault : cat(truth.victim, " ", truth.fault),
                                said(pair.a), said(pair.b)});
  }
  Grid scores{"Scores of the pairs", {"campaign", "runs", "ITP %", "IFP %", "DTP %", "DFP %", "undecided %"}, {}, ""};
  scores.rows = {score_cells(count_scores(left, pairs.a)), score_cells(count_scores(right, pairs.b))};
  return grid_text(counts) + grid_text(scores) + grid_text(different);
}

}  // namespace culprit
