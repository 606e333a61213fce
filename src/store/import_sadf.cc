// sadf's JSON is read as a stream of events. A table says which object of the document is which context; values that
// matter are kept until their tick (one element of "statistics") is closed, so that a file cut in the middle of a
// tick never gives half a tick.
#include "store/import_sadf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "store/import_json.h"

namespace culprit {

namespace {

constexpr size_t kMaxDepth = 64;  // sadf needs 9
constexpr size_t kMaxDevicesPerTick = 100'000;
constexpr double kLargest = 1e15;  // a rate above it is a counter that was reset, as old sysstat prints it

enum class Context {
  root,
  top,
  sysstat,
  hosts,
  host,
  statistics,
  tick,
  timestamp,
  disks,
  disk,
  network,
  nics,
  nic,
  etcp,
  cpus,
  cpu,
  psi,
  psi_io,
  restarts,
  restart,
  boot,
  ignored
};

struct Step {
  Context parent;
  std::string_view key;  // "" is an element of an array, and the document itself
  Context child;
};

constexpr Step kSteps[] = {
    {Context::root, "", Context::top},
    {Context::top, "sysstat", Context::sysstat},
    {Context::sysstat, "hosts", Context::hosts},
    {Context::hosts, "", Context::host},
    {Context::host, "statistics", Context::statistics},
    {Context::statistics, "", Context::tick},
    {Context::tick, "timestamp", Context::timestamp},
    {Context::tick, "disk", Context::disks},
    {Context::disks, "", Context::disk},
    {Context::tick, "network", Context::network},
    {Context::network, "net-dev", Context::nics},
    {Context::nics, "", Context::nic},
    {Context::network, "net-etcp", Context::etcp},
    {Context::tick, "cpu-load", Context::cpus},
    {Context::cpus, "", Context::cpu},
    {Context::tick, "psi", Context::psi},
    {Context::psi, "psi-io", Context::psi_io},
    {Context::host, "restarts", Context::restarts},
    {Context::restarts, "", Context::restart},
    {Context::restart, "boot", Context::boot},
};

Context child_of(Context parent, std::string_view key) {
  for (const Step& step : kSteps)
    if (step.parent == parent && step.key == key) return step.child;
  return Context::ignored;
}

// Slots of a device's values; the names are ours.
enum Slot {
  tps,
  rd_sec,
  wr_sec,
  avgrq_sz,
  avgqu_sz,
  await,
  svctm,
  util,
  rxpck,
  txpck,
  rxbyt,
  txbyt,
  retrans,
  idle,
  iowait,
  steal,
  io_pressure,
  kSlots
};
constexpr std::array<std::string_view, kSlots> kMetricNames = {
    "tps",   "rd_sec", "wr_sec", "avgrq-sz", "avgqu-sz", "await", "svctm", "util",       "rxpck",
    "txpck", "rxbyt",  "txbyt",  "retrans",  "cpu_busy", "",      "steal", "io_pressure"};

struct Field {
  Context context;
  std::string_view key;
  Slot slot;
  double factor;
  bool weak;  // a second form of the same value: rkB beside rd_sec; the other one is nearer to the counter
};

// sysstat's kB are 1024 bytes, sectors 512: both as in its sources.
constexpr Field kFields[] = {
    {Context::disk, "tps", tps, 1, false},         {Context::disk, "rd_sec", rd_sec, 1, false},
    {Context::disk, "rkB", rd_sec, 2, true},       {Context::disk, "wr_sec", wr_sec, 1, false},
    {Context::disk, "wkB", wr_sec, 2, true},       {Context::disk, "avgrq-sz", avgrq_sz, 1, false},
    {Context::disk, "areq-sz", avgrq_sz, 2, true}, {Context::disk, "avgqu-sz", avgqu_sz, 1, false},
    {Context::disk, "aqu-sz", avgqu_sz, 1, true},  {Context::disk, "await", await, 1, false},
    {Context::disk, "svctm", svctm, 1, false},     {Context::disk, "util-percent", util, 1, false},
    {Context::disk, "%util", util, 1, true},       {Context::disk, "util", util, 1, true},
    {Context::nic, "rxpck", rxpck, 1, false},      {Context::nic, "txpck", txpck, 1, false},
    {Context::nic, "rxbyt", rxbyt, 1, false},      {Context::nic, "rxkB", rxbyt, 1024, true},
    {Context::nic, "txbyt", txbyt, 1, false},      {Context::nic, "txkB", txbyt, 1024, true},
    {Context::etcp, "retrans", retrans, 1, false}, {Context::etcp, "retrseg", retrans, 1, true},
    {Context::cpu, "idle", idle, 1, false},        {Context::cpu, "iowait", iowait, 1, false},
    {Context::cpu, "steal", steal, 1, false},      {Context::psi_io, "some_avg", io_pressure, 1, false},
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Row {
  Context context = Context::ignored;
  std::string device;
  std::array<double, kSlots> values{};
  std::array<bool, kSlots> strong{};
  Row() { values.fill(kNone); }
  bool has(Slot slot) const { return !std::isnan(values[slot]); }
};

struct Stamp {
  std::string date;
  std::string time;
  std::string zone;  // as newer sysstat names it
  bool utc = false;
  double interval_s = 0;
};

}  // namespace

// nlohmann's SAX interface; false from any of them stops the parser.
class SadfHandler {
 public:
  SadfHandler(SadfImport& import, std::string file, JsonBytes& bytes)
      : import_(import), table_(import.table_), file_(std::move(file)), bytes_(bytes) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(uint64_t value) { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) { return number(value); }
  bool string(std::string& text);
  bool binary(std::vector<uint8_t>&) { return true; }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t) { return open(); }
  bool start_array(size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(size_t, const std::string& token, const nlohmann::json::exception&) {
    bad_token_ = token;
    return false;
  }

  Status finish(bool parsed);

 private:
  Context here() const { return stack_.empty() ? Context::root : stack_.back(); }
  Error at(std::string_view what, std::string hint) const {
    return input_error(cat(file_, ", line ", bytes_.line(), ": ", what), std::move(hint));
  }
  bool fail(Error error) {
    error_ = std::move(error);
    return false;
  }
  bool open();
  bool close();
  bool number(double value);
  Status end_tick();
  Status end_host();
  Status add_row(size_t node, const Row& row);
  Status add_disk_times(size_t node, const Row& row);
  Status put(size_t node, const Row& row, Slot slot, double value);
  Result<int64_t> time_of(const Stamp& stamp);
  Status explain_parse_error() const;

  SadfImport& import_;
  ImportTable& table_;
  std::string file_;
  JsonBytes& bytes_;
  std::vector<Context> stack_;
  std::string key_;
  std::optional<Error> error_;
  std::string bad_token_;

  std::string host_;
  SadfImport::Section section_;
  Stamp stamp_;
  std::vector<Row> rows_;
  std::map<std::string, double> stalled_ms_;  // by device: how long its oldest request has waited
  int64_t t_ns_ = 0;
  int64_t ticks_ = 0;
  int64_t all_ticks_ = 0;
  int64_t backwards_ = 0;
  int64_t odd_ = 0;
};

bool SadfHandler::open() {
  if (stack_.size() >= kMaxDepth)
    return fail(at("the nesting is deeper than sadf's ever is", "is this the output of sadf -j?"));
  // Inside an array key_ still holds the last key of an element; elements have no key.
  Context parent = here();
  bool element = parent == Context::root || parent == Context::hosts || parent == Context::statistics ||
                 parent == Context::disks || parent == Context::nics || parent == Context::cpus ||
                 parent == Context::restarts;
  Context child = child_of(parent, element ? std::string_view() : std::string_view(key_));
  stack_.push_back(child);
  if (child == Context::host) {
    host_.clear();
    section_ = {};
    section_.file = file_;
    ticks_ = 0;
    stalled_ms_.clear();
  } else if (child == Context::tick) {
    rows_.clear();
    stamp_ = {};
  } else if (child == Context::boot) {
    stamp_ = {};
  } else if (child == Context::disk || child == Context::nic || child == Context::etcp || child == Context::cpu ||
             child == Context::psi_io) {
    if (rows_.size() >= kMaxDevicesPerTick)
      return fail(at("a tick has more than 100000 devices", "is this the output of sadf -j?"));
    rows_.emplace_back();
    rows_.back().context = child;
  }
  return true;
}

bool SadfHandler::close() {
  Context closed = here();
  stack_.pop_back();
  Status done = Ok{};
  if (closed == Context::tick) done = end_tick();
  if (closed == Context::host) done = end_host();
  if (closed == Context::boot) {
    auto t_ns = time_of(stamp_);
    if (t_ns && !host_.empty()) table_.add_event({*t_ns, host_, "note", "the node was restarted"});
  }
  return done ? true : fail(std::move(done).error());
}

bool SadfHandler::number(double value) {
  if (here() == Context::timestamp || here() == Context::boot) {
    if (key_ == "utc") stamp_.utc = value != 0;
    if (key_ == "interval")
      stamp_.interval_s = value > 0 && value < 1e6 ? value : 0;  // sysstat 10 prints 2^64/100 at first
    return true;
  }
  for (const Field& field : kFields) {
    if (field.context != here() || field.key != key_) continue;
    Row& row = rows_.back();
    if (field.weak && row.strong[field.slot]) return true;
    if (value < 0 || value > kLargest) {
      ++odd_;
      return true;
    }
    row.values[field.slot] = value * field.factor;
    row.strong[field.slot] = !field.weak;
    return true;
  }
  return true;
}

bool SadfHandler::string(std::string& text) {
  switch (here()) {
    case Context::host:
      if (key_ == "nodename") host_ = text;
      if (key_ == "timezone") section_.timezone = text.substr(0, 64);
      break;
    case Context::timestamp:
    case Context::boot:
      if (key_ == "date") stamp_.date = text.substr(0, 32);
      if (key_ == "time") stamp_.time = text.substr(0, 32);
      if (key_ == "tz") {
        stamp_.zone = text.substr(0, 64);
        stamp_.utc = text == "UTC";
      }
      break;
    case Context::disk:
      if (key_ == "disk-device" || key_ == "dev") rows_.back().device = text;
      break;
    case Context::nic:
      if (key_ == "iface") rows_.back().device = text;
      break;
    case Context::cpu:
      if (key_ == "cpu" || key_ == "number") rows_.back().device = text;
      break;
    default:
      break;
  }
  return true;
}

Result<int64_t> SadfHandler::time_of(const Stamp& stamp) {
  if (stamp.date.empty() || stamp.time.empty())
    return at("a record has no date and time", "sadf -j writes both; was the file edited?");
  auto t_ns = parse_time(cat(stamp.date, " ", stamp.time));
  if (!t_ns)
    return at(cat("'", printable(cat(stamp.date, " ", stamp.time)), "' is not a date and time"),
              "sadf writes them like 2026-11-15 and 22:40:01; set LC_ALL=C or S_TIME_FORMAT=ISO");
  return *t_ns;
}

Status SadfHandler::put(size_t node, const Row& row, Slot slot, double value) {
  bool of_node = row.context == Context::etcp || row.context == Context::cpu || row.context == Context::psi_io;
  auto series = table_.series(node, of_node ? "" : row.device, kMetricNames[slot]);
  if (!series) return at(series.error().what, series.error().hint);
  return table_.add(*series, t_ns_, value);
}

// sysstat prints 0 where there was no request to take the mean of. No request completed and yet busy: one is stuck, and
// what is known of its time is how long the device has been busy since its last completion.
Status SadfHandler::add_disk_times(size_t node, const Row& row) {
  bool none_done = row.has(tps) && row.values[tps] == 0;
  double busy_share = row.has(util) ? std::min(row.values[util], 100.0) / 100 : 0;
  double& stalled = stalled_ms_[row.device];
  if (!none_done) {
    stalled = 0;
    for (Slot slot : {avgrq_sz, await, svctm})
      if (row.has(slot)) RETURN_IF_ERROR(put(node, row, slot, row.values[slot]));
    return Ok{};
  }
  double busy_ms = busy_share * stamp_.interval_s * 1000;
  bool still = stalled > 0 && busy_share > 0.99;
  stalled = busy_ms > 0 ? (still ? stalled + busy_ms : busy_ms) : 0;
  return stalled > 0 && row.has(await) ? put(node, row, await, stalled) : Status(Ok{});
}

Status SadfHandler::add_row(size_t node, const Row& row) {
  if (row.context == Context::cpu) {
    if (row.device != "all" && row.device != "-1") return Ok{};
    if (row.has(idle))
      RETURN_IF_ERROR(
          put(node, row, idle, std::max(0.0, 100 - row.values[idle] - (row.has(iowait) ? row.values[iowait] : 0))));
    return row.has(steal) ? put(node, row, steal, row.values[steal]) : Status(Ok{});
  }
  if (row.device.empty() && (row.context == Context::disk || row.context == Context::nic))
    return at("a disk or interface has no name", "is this the output of sadf -j?");
  if (row.context == Context::disk) RETURN_IF_ERROR(add_disk_times(node, row));
  for (Slot slot : {tps, rd_sec, wr_sec, avgqu_sz, util, rxpck, txpck, rxbyt, txbyt, retrans, io_pressure})
    if (row.has(slot)) RETURN_IF_ERROR(put(node, row, slot, row.values[slot]));
  return Ok{};
}

Status SadfHandler::end_tick() {
  if (host_.empty()) return at("statistics come before the host's nodename", "is this the output of sadf -j?");
  ASSIGN_OR_RETURN(t_ns_, time_of(stamp_));
  auto node = table_.node(host_);
  if (!node) return at(node.error().what, node.error().hint);
  if (ticks_ == 0) section_.first_ns = section_.last_ns = t_ns_;
  if (t_ns_ <= section_.last_ns && ticks_ > 0) ++backwards_;
  section_.first_ns = std::min(section_.first_ns, t_ns_);
  section_.last_ns = std::max(section_.last_ns, t_ns_);
  section_.utc = stamp_.utc;
  if (!stamp_.zone.empty()) section_.timezone = stamp_.zone;
  ++ticks_;
  ++all_ticks_;
  for (const Row& row : rows_) RETURN_IF_ERROR(add_row(*node, row));
  return table_.heard(*node, t_ns_);
}

Status SadfHandler::end_host() {
  if (ticks_ == 0) {
    table_.note(cat(file_, ": host ", printable(host_), " has no statistics"));
    return Ok{};
  }
  if (backwards_ > 0)
    table_.note(
        cat(file_, ": the time of ", host_, " does not go forward at ", backwards_, " places; records are sorted"));
  if (odd_ > 0)
    table_.note(cat(file_, ": ", odd_, " values of ", host_,
                    " are negative or absurd, as after a counter's reset; they are left out"));
  backwards_ = odd_ = 0;
  Status done = import_.close_section(host_, section_);
  ticks_ = 0;
  return done;
}

Status SadfHandler::explain_parse_error() const {
  std::string shown = printable(trim(bad_token_), 40);
  if (bad_token_.find("file-utc-time") != std::string::npos)
    return at("a comma is missing before \"file-utc-time\"",
              "sadf of sysstat 10.2.1 forgets it: put it there, or use another sadf on the same data file");
  return at(cat("the file is not JSON from here on: '", shown, "'"),
            "give the unchanged output of sadf -j, one sadf per file");
}

Status SadfHandler::finish(bool parsed) {
  if (bytes_.error()) return *bytes_.error();
  if (error_) return *error_;
  if (bytes_.token_too_long())
    return at("a single text or number is longer than 64 kB", "is this the output of sadf -j?");
  if (!parsed && bytes_.bytes() == 0)
    return input_error(cat(file_, " is empty"), "make it with: sadf -j FILE -- -d -n DEV,ETCP");
  if (!parsed && !bytes_.input_ended()) return explain_parse_error();
  if (!parsed && all_ticks_ == 0)
    return input_error(cat(file_, " is cut off before its first record"), "was sadf killed? Run it again");
  if (!parsed) {
    table_.note(cat(file_, " is cut off after ", format_time(t_ns_), "; all records up to there are imported"));
    if (ticks_ > 0) RETURN_IF_ERROR(end_host());
  }
  if (all_ticks_ == 0)
    return input_error(cat(file_, " holds no statistics of sadf"), "make it with: sadf -j FILE -- -d -n DEV,ETCP");
  return Ok{};
}

Status SadfImport::add(const ReadFn& read, const std::string& name_for_errors) {
  JsonBytes bytes(read);
  SadfHandler handler(*this, name_for_errors, bytes);
  bool parsed = nlohmann::json::sax_parse(JsonBytes::Iterator(&bytes), JsonBytes::Iterator(), &handler);
  return handler.finish(parsed);
}

Status SadfImport::close_section(const std::string& host, const Section& section) {
  auto& mine = sections_[host];
  const Section* clash = nullptr;
  auto next = mine.lower_bound(section.first_ns);
  if (next != mine.end() && (next->first == section.first_ns || next->first < section.last_ns)) clash = &next->second;
  if (next != mine.begin() && std::prev(next)->second.last_ns > section.first_ns) clash = &std::prev(next)->second;
  if (clash)
    return input_error(cat(section.file, " and ", clash->file, " both have records of ", host, " at the same time"),
                       "two servers with one name? Change \"nodename\" in one of the files");
  if (!section.utc)
    table_.note(cat("times of ", host, " are its local time",
                    section.timezone.empty() ? "" : cat(" (", printable(section.timezone), ")"),
                    ", taken for UTC; sadf without -t or -T writes UTC"));
  const Section& first = sections_.begin()->second.empty() ? section : sections_.begin()->second.begin()->second;
  if (first.utc != section.utc || (!section.utc && first.timezone != section.timezone))
    table_.note("not all hosts' times are in the same zone: their ticks may not belong together");
  mine.emplace(section.first_ns, section);
  return Ok{};
}

}  // namespace culprit
