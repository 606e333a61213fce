// Does any content of a sclog or fdlog crash the reader? The first byte chooses what the rest is: a whole file behind
// its magic, the content of one block (random bytes never get a checksum right), a header, an end, or changes to a good
// log.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "calls/call_columns.h"
#include "calls/call_log.h"
#include "calls/fd_map.h"
#include "calls/log_block.h"
#include "calls/log_json.h"
#include "calls/record_columns.h"

namespace {

using namespace culprit;

void check(bool good) {
  if (!good) std::abort();
}

void read_everything(std::string sclog, std::string fdlog) {
  auto reader = CallLogReader::from_bytes(std::move(sclog), std::move(fdlog), "fuzz");
  if (!reader) {
    check(!reader.error().what.empty());
    return;
  }
  FdMap fds(reader->fds());
  uint64_t sum = 0;
  bool read = reader
                  ->each_call([&](const Call& call) {
                    sum ^= call.sequence + (target_of(call, fds) ? 1 : 0) + (fds.failed_path(call.sequence) ? 2 : 0);
                    return true;
                  })
                  .ok();
  read = read && reader
                     ->each_sum([&](const CallSum& one) {
                       sum ^= one.count;
                       return true;
                     })
                     .ok();
  check(read);  // in memory nothing can fail to be read
  volatile uint64_t sink = sum;
  (void)sink;
}

void as_file(std::string_view bytes) {
  read_everything(cat(file_magic(LogFile::calls), bytes), cat(file_magic(LogFile::fds), bytes));
}

// What is accepted must survive being written and read again.
template <class Record, class Encode, class Decode>
void as_content(std::string_view bytes, Encode encode, Decode decode) {
  if (bytes.empty()) return;
  size_t count = static_cast<unsigned char>(bytes[0]);
  std::vector<Record> records, again;
  if (!decode(bytes.substr(1), count, records)) return;
  check(records.size() == count);
  check(decode(encode(records), count, again).ok() && again == records);
}

void as_header(std::string_view bytes) {
  auto header = parse_log_header(bytes, "fuzz");
  if (!header) return;
  header->node = "s1";  // made printable when it is read: of an escaped and shortened name another one may come
  std::string text = format_log_header(*header);
  auto again = parse_log_header(text, "fuzz");
  check(again.ok() && format_log_header(*again) == text);
  if (header->around.peers.empty()) return;
  FdRecord record;
  record.kind = FdKind::socket;
  record.local = record.peer = header->around.peers[0].address;
  (void)classify(record, header->around);
}

void as_end(std::string_view bytes) {
  auto end = parse_log_end(bytes, "fuzz");
  if (!end) return;
  std::string text = format_log_end(*end);
  auto again = parse_log_end(text, "fuzz");
  check(again.ok() && format_log_end(*again) == text);
}

struct Logs {
  std::string calls, fds;
};

// Four small blocks of each kind between a header and an end.
Logs good_logs() {
  Logs logs;
  CallLogWriter writer(
      [&](LogFile file, std::string_view bytes) -> Status {
        (file == LogFile::calls ? logs.calls : logs.fds) += bytes;
        return Ok{};
      },
      LogHeader{});
  for (int i = 0; i < 4; ++i) {
    Call call;
    call.sequence = static_cast<uint64_t>(i) + 1;
    FdRecord record;
    record.name = "/brick/f";
    CallSum sum;
    sum.errors[28] = 1;
    check(writer.add(call).ok() && writer.add(record).ok() && writer.add(sum).ok() && writer.flush().ok());
  }
  check(writer.close({}).ok());
  return logs;
}

// Three bytes each: where, and what is xored there; the first one says how much is cut off.
void as_changes(std::string_view bytes) {
  static const Logs good = good_logs();
  Logs logs = good;
  if (bytes.empty()) return;
  logs.calls.resize(logs.calls.size() - static_cast<unsigned char>(bytes[0]) % logs.calls.size());
  for (size_t i = 1; i + 2 < bytes.size(); i += 3) {
    std::string& log = (static_cast<unsigned char>(bytes[i]) & 0x80) != 0 ? logs.fds : logs.calls;
    size_t at = (static_cast<size_t>(bytes[i] & 0x7f) << 8 | static_cast<unsigned char>(bytes[i + 1])) % log.size();
    log[at] = static_cast<char>(log[at] ^ bytes[i + 2]);
  }
  read_everything(std::move(logs.calls), std::move(logs.fds));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 7) {
    case 0:
      as_file(bytes);
      break;
    case 1:
      as_content<Call>(bytes, encode_calls, decode_calls);
      break;
    case 2:
      as_content<FdRecord>(bytes, encode_fds, decode_fds);
      break;
    case 3:
      as_content<CallSum>(bytes, encode_sums, decode_sums);
      break;
    case 4:
      as_header(bytes);
      break;
    case 5:
      as_end(bytes);
      break;
    default:
      as_changes(bytes);
  }
  return 0;
}
