#include "store/scrub.h"

#include <algorithm>

#include "base/text.h"

namespace culprit {

namespace {

// Fronts by which a device without further description is known to lie on others.
constexpr std::string_view kStackedFronts[] = {"loop", "zram", "ram", "dm-",   "md",
                                               "bond", "team", "br-", "virbr", "docker"};
constexpr std::string_view kHarmlessWords[] = {"kind", "side", "inode"};  // of a key's detail
constexpr std::string_view kDeviceWords[] = {"slaves", "lower", "dm"};    // names of devices, or lists of them
constexpr std::string_view kHarmlessEnvironment[] = {"kernel", "tcp_congestion_control", "culprit_node",
                                                     "sampler_cpu_ms"};
constexpr std::string_view kHarmlessTruth[] = {"fault", "seed", "workload"};

template <size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace

std::string Scrubber::pseudonym(std::string_view kind, std::string_view name) {
  if (name.empty()) return "";
  auto family = names_.find(kind);
  if (family == names_.end())
    family = names_.emplace(std::string(kind), std::map<std::string, std::string, std::less<>>()).first;
  auto known = family->second.find(name);
  if (known != family->second.end()) return known->second;
  std::string made = cat(kind, family->second.size() + 1);
  family->second.emplace(std::string(name), made);
  return made;
}

std::string Scrubber::node(std::string_view name) {
  return pseudonym("node-", name);
}
std::string Scrubber::address(std::string_view address) {
  return pseudonym("addr-", address);
}
std::string Scrubber::text(std::string_view text) {
  return pseudonym("text-", text);
}

std::string Scrubber::device(std::string_view source, std::string_view name) {
  if (name == "lo") return "lo";
  for (std::string_view front : kStackedFronts)
    if (name.starts_with(front)) return pseudonym(cat(front, "x"), name);
  auto known = devices_.find(name);
  if (known != devices_.end()) return known->second;
  std::string made = pseudonym(source == "disk" ? "disk-" : source == "nic" ? "nic-" : "dev-", name);
  devices_.emplace(std::string(name), made);
  return made;
}

// "10.0.0.1:49152" -> "addr-1:49152"; ports say which service it is, not whose.
std::string Scrubber::endpoint(std::string_view end) {
  size_t colon = end.rfind(':');
  std::string_view host = end.substr(0, colon);
  if (host.starts_with("[") && host.ends_with("]")) host = host.substr(1, host.size() - 2);
  if (colon == std::string_view::npos) return address(host);
  return cat(address(host), end.substr(colon));
}

std::string Scrubber::key(std::string_view source, std::string_view name) {
  if (source == "process") return std::string(name);
  if (source != "tcp") return device(source, name);
  size_t arrow = name.find('>');
  if (arrow == std::string_view::npos) return pseudonym("flow-", name);
  std::string local = endpoint(name.substr(0, arrow));  // first, because numbers follow the order of appearance
  return cat(local, ">", endpoint(name.substr(arrow + 1)));
}

std::string Scrubber::detail(std::string_view source, std::string_view detail) {
  std::vector<std::string> kept;
  for (std::string_view pair : split(detail, ' ')) {
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view word = pair.substr(0, equals);
    if (among(kHarmlessWords, word) || (word == "daemon" && source == "tcp")) kept.emplace_back(pair);
    if (!among(kDeviceWords, word)) continue;
    std::vector<std::string> members;
    for (std::string_view member : split(pair.substr(equals + 1), ',')) members.push_back(device(source, member));
    kept.push_back(cat(word, "=", join(members, ",")));
  }
  return join(kept, " ");
}

Event Scrubber::event(const Event& event) {
  return {event.t_ns, node(event.node), event.kind, text(event.text)};
}

Manifest Scrubber::manifest(const Manifest& manifest) {
  Manifest out = manifest;
  out.source = "scrubbed";
  out.cluster.name = out.cluster.name.empty() ? "" : "cluster";
  for (Node& one : out.cluster.nodes) {
    one.name = node(one.name);
    one.address = address(one.address);
    one.reach = "local";
    one.sampler.clear();
    one.storage.clear();
    for (std::string& disk : one.disks) disk = device("disk", disk);
    for (std::string& nic : one.nics) nic = device("nic", nic);
  }
  for (NodeReport& report : out.nodes) {
    report.name = node(report.name);
    std::erase_if(report.environment, [](const auto& entry) { return !among(kHarmlessEnvironment, entry.first); });
  }
  for (std::string& note : out.notes) note = text(note);
  for (auto& [word, value] : out.truth)
    if (word == "server") value = node(value);
  std::erase_if(out.truth,
                [](const auto& entry) { return entry.first != "server" && !among(kHarmlessTruth, entry.first); });
  out.checksum.clear();
  return out;
}

}  // namespace culprit
