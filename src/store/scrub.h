// Pseudonyms for sharing a run: the same name gets the same pseudonym, numbered in the order of appearance. Nothing
// secret goes into them, so they cannot be turned back, and they say nothing across runs. docs/formats/csv.md lists
// what is replaced and what is not.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/run.h"

namespace culprit {

class Scrubber {
 public:
  std::string node(std::string_view name);        // node-1
  std::string address(std::string_view address);  // addr-1
  std::string text(std::string_view text);        // text-1: events, notes
  // disk-1, nic-1 or dev-1; what a cluster file calls a disk keeps that pseudonym among imported values. The front of a
  // name that says "stacked" or "loopback" stays (dm-x1, lo): analyses go by it.
  std::string device(std::string_view source, std::string_view name);
  // A key of a source: a device, a flow (both addresses), or a daemon (its program's name and pid stay).
  std::string key(std::string_view source, std::string_view name);
  // Its "word=value" details: those that name nothing stay, names of devices are replaced, the rest is dropped.
  std::string detail(std::string_view source, std::string_view detail);

  Event event(const Event& event);
  Manifest manifest(const Manifest& manifest);

 private:
  std::string pseudonym(std::string_view kind, std::string_view name);
  std::string endpoint(std::string_view end);

  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> devices_;  // of all sources
};

}  // namespace culprit
