// Rows for the tests of scoring: a run whose victim is s3 and whose fault comes at 60 s.
#pragma once

#include <string>

#include "study/judge.h"

namespace culprit {

inline RowAccusation accusation(const std::string& server, const std::string& cause, double known_s = 100) {
  RowAccusation out;
  out.server = server;
  out.resource = cause.starts_with("disk") ? "disk" : "network";
  out.cause = cause;
  out.onset_from_s = known_s - 64;
  out.onset_until_s = known_s;
  out.known_s = known_s;
  out.evidence = {{"rd_sec", 12350, 3.5, 8.25}};
  return out;
}

inline Row scored(const std::string& fault, std::vector<RowAccusation> accused = {}) {
  static int number = 0;
  Row row;
  row.campaign = "monday";
  row.truth.workload = "ddw";
  row.truth.fault = fault;
  row.truth.id = "score-" + std::to_string(++number);
  row.interval_ns = 100'000'000;
  row.servers = 5;
  row.seconds = 120;
  row.origin = "recorded";
  row.detector = "fast10";
  row.answer = accused.empty() ? "healthy" : "culprit";
  row.accused = std::move(accused);
  if (fault != "none") {
    row.truth.victim = "s3";
    row.on_s = 60;
    row.off_s = 90;
  }
  score_row(row);
  return row;
}

}  // namespace culprit
