// One column per field, each with the differences between neighbours; texts are lengths, then bytes, and repeated parts
// of paths are left to zstd. Which fields, in which order, is a table.
#include "calls/record_columns.h"

#include <iterator>
#include <type_traits>

#include "calls/varint.h"

namespace culprit {

namespace {

template <class Record>
struct Field {
  uint64_t (*get)(const Record&);
  bool (*set)(Record&, uint64_t);  // false: the field cannot have this value
};

template <auto kMember, class Record>
uint64_t get(const Record& record) {
  return static_cast<uint64_t>(record.*kMember);
}

template <auto kMember, class Record>
bool set(Record& record, uint64_t value) {
  using Type = std::remove_reference_t<decltype(record.*kMember)>;
  record.*kMember = static_cast<Type>(value);
  return static_cast<uint64_t>(record.*kMember) == value;
}

template <auto kMember, int kLimit, class Record>
bool set_below(Record& record, uint64_t value) {
  return value < kLimit && set<kMember>(record, value);
}

constexpr Field<FdRecord> kFdFields[] = {
    {get<&FdRecord::t_ns>, set<&FdRecord::t_ns>},
    {get<&FdRecord::process>, set<&FdRecord::process>},
    {get<&FdRecord::fd>, set<&FdRecord::fd>},
    {get<&FdRecord::sequence>, set<&FdRecord::sequence>},
    {get<&FdRecord::kind>, set_below<&FdRecord::kind, kFdKinds>},
    {get<&FdRecord::fd_class>, set_below<&FdRecord::fd_class, kFdClasses>},
    {get<&FdRecord::flags>, set<&FdRecord::flags>},
    {get<&FdRecord::device>, set<&FdRecord::device>},
    {get<&FdRecord::inode>, set<&FdRecord::inode>},
};
constexpr std::string FdRecord::*kFdTexts[] = {&FdRecord::name, &FdRecord::protocol, &FdRecord::local, &FdRecord::peer};

constexpr Field<CallSum> kSumFields[] = {
    {get<&CallSum::second>, set<&CallSum::second>},
    {get<&CallSum::fd_class>, set_below<&CallSum::fd_class, kFdClasses>},
    {get<&CallSum::number>, set<&CallSum::number>},
    {get<&CallSum::count>, set<&CallSum::count>},
    {get<&CallSum::sum_ns>, set<&CallSum::sum_ns>},
};

template <class Record>
void put_fields(std::string& out, std::span<const Record> records, std::span<const Field<Record>> fields) {
  for (const Field<Record>& field : fields) {
    std::string column;
    uint64_t last = 0;
    for (const Record& record : records) {
      uint64_t now = field.get(record);
      put_varint(column, zigzag(now - last));
      last = now;
    }
    put_column(out, column);
  }
}

template <class Record>
bool get_fields(VarintReader& in, std::span<Record> records, std::span<const Field<Record>> fields) {
  for (const Field<Record>& field : fields) {
    VarintReader column = in.column();
    uint64_t last = 0;
    for (Record& record : records) {
      last += unzigzag(column.next());
      if (!field.set(record, last)) return false;
    }
    if (!column.done()) return false;
  }
  return true;
}

void put_texts(std::string& out, std::span<const FdRecord> records, std::string FdRecord::*member) {
  std::string lengths;
  std::string bytes;
  for (const FdRecord& record : records) {
    std::string_view text = std::string_view(record.*member).substr(0, kMaxFdText);
    put_varint(lengths, text.size());
    bytes += text;
  }
  put_column(out, lengths);
  put_column(out, bytes);
}

bool get_texts(VarintReader& in, std::span<FdRecord> records, std::string FdRecord::*member) {
  VarintReader lengths = in.column();
  VarintReader bytes = in.column();
  for (FdRecord& record : records) {
    uint64_t length = lengths.next();
    if (length > kMaxFdText) return false;
    record.*member = bytes.take(length);
    if (!bytes.ok()) return false;
  }
  return lengths.done() && bytes.done();
}

// Which of the 32 have a count, and these counts.
void put_histograms(std::string& out, std::span<const CallSum> sums) {
  std::string column;
  for (const CallSum& sum : sums) {
    uint64_t mask = 0;
    for (size_t i = 0; i < sum.histogram.size(); ++i)
      if (sum.histogram[i] != 0) mask |= uint64_t{1} << i;
    put_varint(column, mask);
    for (uint32_t count : sum.histogram)
      if (count != 0) put_varint(column, count);
  }
  put_column(out, column);
}

bool get_histograms(VarintReader& in, std::span<CallSum> sums) {
  VarintReader column = in.column();
  for (CallSum& sum : sums) {
    uint64_t mask = column.next();
    if (mask > UINT32_MAX) return false;
    for (size_t i = 0; i < sum.histogram.size(); ++i) {
      uint64_t count = ((mask >> i) & 1) != 0 ? column.next() : 0;
      if (count > UINT32_MAX) return false;
      sum.histogram[i] = static_cast<uint32_t>(count);
    }
  }
  return column.done();
}

void put_errors(std::string& out, std::span<const CallSum> sums) {
  std::string column;
  for (const CallSum& sum : sums) {
    put_varint(column, sum.errors.size());
    for (const auto& [number, count] : sum.errors) {
      put_signed(column, number);
      put_varint(column, count);
    }
  }
  put_column(out, column);
}

bool get_errors(VarintReader& in, std::span<CallSum> sums) {
  VarintReader column = in.column();
  for (CallSum& sum : sums) {
    uint64_t left = column.next();
    for (; left > 0 && column.ok(); --left) {
      int32_t number = column.next_int32();
      sum.errors[number] = column.next();
    }
  }
  return column.done();
}

Error wrong(const char* what) {
  return input_error(what);
}

constexpr size_t kLeastFdBytes = std::size(kFdFields) + std::size(kFdTexts);  // an entry in each column of numbers
constexpr size_t kLeastSumBytes = std::size(kSumFields) + 2;                  // and in those of histograms and errors

}  // namespace

std::string encode_fds(std::span<const FdRecord> records) {
  std::string out;
  put_varint(out, records.size());
  put_fields<FdRecord>(out, records, kFdFields);
  for (auto member : kFdTexts) put_texts(out, records, member);
  return out;
}

Status decode_fds(std::string_view raw, size_t count, std::vector<FdRecord>& records) {
  if (count > raw.size() / kLeastFdBytes) return wrong("it is too short for the descriptors that its header says");
  VarintReader in(raw);
  if (in.next() != count) return wrong("it does not have the descriptors that its header says");
  std::vector<FdRecord> fresh(count);
  bool good = get_fields<FdRecord>(in, fresh, kFdFields);
  for (auto member : kFdTexts) good = good && get_texts(in, fresh, member);
  if (!good || !in.done()) return wrong("its descriptors are wrong");
  records.insert(records.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  return Ok{};
}

std::string encode_sums(std::span<const CallSum> sums) {
  std::string out;
  put_varint(out, sums.size());
  put_fields<CallSum>(out, sums, kSumFields);
  put_histograms(out, sums);
  put_errors(out, sums);
  return out;
}

Status decode_sums(std::string_view raw, size_t count, std::vector<CallSum>& sums) {
  if (count > raw.size() / kLeastSumBytes) return wrong("it is too short for the sums that its header says");
  VarintReader in(raw);
  if (in.next() != count) return wrong("it does not have the sums that its header says");
  sums.assign(count, CallSum{});
  bool good = get_fields<CallSum>(in, sums, kSumFields) && get_histograms(in, sums) && get_errors(in, sums);
  if (!good || !in.done()) return wrong("its sums are wrong");
  return Ok{};
}

}  // namespace culprit
