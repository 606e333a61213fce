// A record reader (RFC 4180 quoting, any line end) under a row reader that knows the six columns. Ours, because the
// CSV libraries at hand read whole files or have no limit on a line.
#include "store/import_csv.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"

namespace culprit {

namespace {

constexpr size_t kMaxRecordBytes = 1'000'000;
constexpr size_t kBlockBytes = 65536;
constexpr size_t kMaxFields = 1000;

class ByteReader {
 public:
  explicit ByteReader(const ReadFn& read) : read_(read), block_(kBlockBytes, '\0') {}

  // -1 at the end of the input or when reading failed: then error() has a value.
  int peek() {
    if (at_ == end_ && !refill()) return -1;
    return static_cast<unsigned char>(block_[at_]);
  }
  int get() {
    int c = peek();
    if (c >= 0) ++at_;
    return c;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  bool refill() {
    if (done_) return false;
    auto n = read_(block_.data(), block_.size());
    if (!n) error_ = n.error();
    at_ = 0;
    end_ = n ? *n : 0;
    done_ = end_ == 0;
    return !done_;
  }

  const ReadFn& read_;
  std::string block_;
  size_t at_ = 0;
  size_t end_ = 0;
  bool done_ = false;
  std::optional<Error> error_;
};

// One record at a time; keeps its fields until the next one.
class RecordReader {
 public:
  RecordReader(const ReadFn& read, const std::string& file) : bytes_(read), file_(file) {}

  Result<bool> next();  // false at the end
  const std::vector<std::string>& fields() const { return fields_; }
  int64_t line() const { return record_line_; }
  Error at(std::string_view what, std::string hint) const {
    return input_error(cat(file_, ", line ", record_line_, ": ", what), std::move(hint));
  }

 private:
  Status read_record();
  Status read_quoted();
  Status grow(int c);
  void skip_comment();
  void skip_mark();

  ByteReader bytes_;
  const std::string& file_;
  std::vector<std::string> fields_;
  size_t used_ = 0;  // bytes of this record
  int64_t line_ = 1;
  int64_t record_line_ = 1;
  bool first_ = true;
};

Status RecordReader::grow(int c) {
  if (++used_ > kMaxRecordBytes)
    return at("the line is longer than 1 MB", "is this a CSV file? docs/formats/csv.md shows one");
  fields_.back() += static_cast<char>(c);
  return Ok{};
}

// Behind an opening quote: to the closing one; "" is a quote.
Status RecordReader::read_quoted() {
  while (true) {
    int c = bytes_.get();
    if (c < 0) return at("a quoted field is not closed", "the file seems to be cut off");
    if (c == '"' && bytes_.peek() != '"') return Ok{};
    if (c == '"') bytes_.get();
    if (c == '\n') ++line_;
    RETURN_IF_ERROR(grow(c));
  }
}

Status RecordReader::read_record() {
  fields_.assign(1, "");
  used_ = 0;
  while (true) {
    int c = bytes_.get();
    if (c == '\r' && (bytes_.peek() == '\n' || bytes_.peek() < 0)) continue;
    if (c < 0 || c == '\n') {
      ++line_;
      return Ok{};
    }
    if (c == ',') {
      if (++used_; fields_.size() >= kMaxFields)
        return at("the line has more than 1000 fields", "is this the right file?");
      fields_.emplace_back();
    } else if (c == '"' && trim(fields_.back()).empty()) {
      fields_.back().clear();
      RETURN_IF_ERROR(read_quoted());
    } else {
      RETURN_IF_ERROR(grow(c));
    }
  }
}

void RecordReader::skip_comment() {
  for (int c = bytes_.get(); c >= 0 && c != '\n';) c = bytes_.get();
  ++line_;
}

// The UTF-8 byte order mark that some spreadsheets write.
void RecordReader::skip_mark() {
  for (int expected : {0xef, 0xbb, 0xbf})
    if (bytes_.peek() == expected)
      bytes_.get();
    else
      return;
}

Result<bool> RecordReader::next() {
  if (first_) skip_mark();
  first_ = false;
  while (bytes_.peek() == '#' || bytes_.peek() == '\n' || bytes_.peek() == '\r') {
    if (bytes_.peek() == '#')
      skip_comment();
    else if (bytes_.get() == '\n')
      ++line_;
  }
  record_line_ = line_;
  bool more = bytes_.peek() >= 0;
  if (more) RETURN_IF_ERROR(read_record());
  if (bytes_.error()) return *bytes_.error();
  return more;
}

enum Column { kTime, kNode, kSource, kDevice, kMetric, kValue, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"time", "node", "source", "device", "metric", "value"};
constexpr std::array<bool, kColumns> kNeeded = {true, true, false, false, true, true};

struct Header {
  std::array<int, kColumns> at{-1, -1, -1, -1, -1, -1};
  size_t fields = 0;
};

Status read_header(const RecordReader& record, const std::string& file, ImportTable& table, Header& header) {
  std::vector<std::string> extra;
  header.fields = record.fields().size();
  for (size_t i = 0; i < record.fields().size(); ++i) {
    std::string_view name = trim(record.fields()[i]);
    auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
      if (extra.size() < 10) extra.push_back(printable(name, 40));
      continue;
    }
    int& at = header.at[static_cast<size_t>(found - kNames.begin())];
    if (at >= 0)
      return record.at(cat("the header has two columns named ", name), "every column needs a name of its own");
    at = static_cast<int>(i);
  }
  for (size_t i = 0; i < kColumns; ++i) {
    if (!kNeeded[i] || header.at[i] >= 0) continue;
    std::string near = did_you_mean(kNames[i], extra);
    return record.at(cat("the header has no column named ", kNames[i]),
                     near.empty()
                         ? "the first line must be time,node,source,device,metric,value: see docs/formats/csv.md"
                         : cat("rename the column '", near, "' to ", kNames[i]));
  }
  if (!extra.empty()) table.note(cat(file, ": columns not used: ", join(extra, ", ")));
  return Ok{};
}

bool says_missing(std::string_view text) {
  static constexpr std::string_view kWords[] = {"",     "nan",      "-nan",      "+nan", "inf", "-inf",
                                                "+inf", "infinity", "-infinity", "null", "na",  "n/a"};
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

class RowReader {
 public:
  RowReader(const RecordReader& record, const std::string& file, const Header& header, ImportTable& table)
      : record_(record), file_(file), header_(header), table_(table) {}

  Status row();
  void say_what_was_odd();

 private:
  std::string_view field(Column column) const {
    int at = header_.at[column];
    return at < 0 ? std::string_view() : trim(record_.fields()[static_cast<size_t>(at)]);
  }
  std::string_view metric_name();
  Result<double> number(const MetricInfo* metric);

  const RecordReader& record_;
  const std::string& file_;
  const Header& header_;
  ImportTable& table_;
  int64_t missing_ = 0;
  std::vector<std::string> unknown_;
};

// The metric's own name, also where the file has another one for it: %util, cwnd, rd_sec/s.
std::string_view RowReader::metric_name() {
  std::string_view name = field(kMetric);
  std::string_view bare = name.ends_with("/s") ? name.substr(0, name.size() - 2) : name;
  return find_metric(bare) ? find_metric(bare)->name : name;
}

Result<double> RowReader::number(const MetricInfo* metric) {
  std::string_view text = field(kValue);
  if (text.starts_with("+")) text.remove_prefix(1);
  auto value = parse_double(text);
  if (!value)
    return record_.at(cat("'", printable(text), "' is not a number"),
                      "use a point for decimals; leave the field empty where there is no value");
  if (*value < 0 && metric && !metric->may_be_negative)
    return record_.at(cat(field(kMetric), " is negative"),
                      "rates and times cannot be; leave the field empty where there is no value");
  return *value;
}

Status RowReader::row() {
  if (record_.fields().size() != header_.fields)
    return record_.at(cat("the line has ", record_.fields().size(), " fields, the header ", header_.fields),
                      "quote fields that hold a comma");
  auto t_ns = parse_time(field(kTime));
  if (!t_ns) return record_.at(t_ns.error().what, t_ns.error().hint);
  auto node = table_.node(field(kNode));
  if (!node) return record_.at(node.error().what, node.error().hint);
  std::string_view metric = metric_name();
  const MetricInfo* known = find_metric(metric);
  auto series = table_.series(*node, field(kDevice), metric);
  if (!series) return record_.at(series.error().what, series.error().hint);
  if (!known && unknown_.size() < 20 && std::find(unknown_.begin(), unknown_.end(), metric) == unknown_.end())
    unknown_.emplace_back(metric);
  if (says_missing(field(kValue))) {
    ++missing_;
    return table_.heard(*node, *t_ns);
  }
  ASSIGN_OR_RETURN(double value, number(known));
  return table_.add(*series, *t_ns, value);
}

void RowReader::say_what_was_odd() {
  if (missing_ > 0)
    table_.note(cat(file_, ": ", missing_, missing_ == 1 ? " value is missing" : " values are missing",
                    " (empty, NaN or infinite)"));
  std::vector<std::string> known;
  for (const MetricInfo& metric : metrics()) known.emplace_back(metric.name);
  for (const std::string& name : unknown_) {
    std::string near = did_you_mean(name, known);
    table_.note(cat("metric '", printable(name), "' is kept, but nothing here uses it",
                    near.empty() ? "" : cat("; did you mean '", near, "'?")));
  }
}

}  // namespace

Status import_csv(const ReadFn& read, const std::string& name_for_errors, ImportTable& table) {
  RecordReader record(read, name_for_errors);
  ASSIGN_OR_RETURN(bool any, record.next());
  if (!any)
    return input_error(cat(name_for_errors, " is empty"),
                       "the first line must be time,node,source,device,metric,value");
  Header header;
  RETURN_IF_ERROR(read_header(record, name_for_errors, table, header));
  RowReader rows(record, name_for_errors, header, table);
  while (true) {
    ASSIGN_OR_RETURN(bool more, record.next());
    if (!more) break;
    RETURN_IF_ERROR(rows.row());
  }
  rows.say_what_was_odd();
  return Ok{};
}

}  // namespace culprit
