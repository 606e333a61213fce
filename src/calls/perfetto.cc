#include "calls/perfetto.h"

#include "base/text.h"
#include "calls/call_text.h"

namespace culprit {

namespace {

// Field numbers of perfetto's protos/perfetto/trace/: trace, trace_packet, track_event/*.proto.
constexpr int kTracePacket = 1;
constexpr int kPacketTime = 8;
constexpr int kPacketSequence = 10;  // all packets are of one sequence; a reader wants it named
constexpr int kPacketEvent = 11;
constexpr int kPacketFlags = 13;
constexpr int kPacketTrack = 60;
constexpr int kTrackUuid = 1;
constexpr int kTrackProcess = 3;
constexpr int kTrackThread = 4;
constexpr int kTrackParent = 5;
constexpr int kProcessPid = 1;
constexpr int kProcessName = 6;
constexpr int kThreadPid = 1;
constexpr int kThreadTid = 2;
constexpr int kEventNotes = 4;
constexpr int kEventType = 9;
constexpr int kEventTrack = 11;
constexpr int kEventCategory = 22;
constexpr int kEventName = 23;
constexpr int kNoteInt = 4;
constexpr int kNoteText = 6;
constexpr int kNoteName = 10;

constexpr uint64_t kBegin = 1;  // TrackEvent.Type
constexpr uint64_t kEnd = 2;
constexpr uint64_t kInstant = 3;

constexpr uint64_t kOurSequence = 1;
constexpr uint64_t kStateCleared = 1;  // of the first packet: nothing came before it
constexpr uint64_t kProcessTrack = 1;  // processes have odd track numbers, threads even ones

uint64_t process_track(int32_t process) {
  return uint64_t{static_cast<uint32_t>(process)} << 32 | kProcessTrack;
}

// Never the number of a process's track, nor 0, which means none.
uint64_t thread_track(const Call& call) {
  return uint64_t{static_cast<uint32_t>(call.process)} << 32 |
         ((uint64_t{static_cast<uint32_t>(call.thread)} << 1) + 2);
}

std::string packet(ProtoWriter& inside) {
  inside.number(kPacketSequence, kOurSequence);
  return ProtoWriter().bytes(kTracePacket, inside.text()).text();
}

void note(ProtoWriter& event, std::string_view name, std::string_view value) {
  event.bytes(kEventNotes, ProtoWriter().bytes(kNoteName, name).bytes(kNoteText, value).text());
}

void note(ProtoWriter& event, std::string_view name, int64_t value) {
  event.bytes(kEventNotes, ProtoWriter().bytes(kNoteName, name).number(kNoteInt, static_cast<uint64_t>(value)).text());
}

std::string event_packet(int64_t t_ns, const ProtoWriter& event) {
  ProtoWriter inside;
  inside.number(kPacketTime, static_cast<uint64_t>(t_ns)).bytes(kPacketEvent, event.text());
  return packet(inside);
}

// What stands beside a slice: the whole line says it all, the rest is for queries.
void add_notes(ProtoWriter& event, const Call& call, const FdMap& fds) {
  note(event, "line", call_text(call, fds, {.time = false, .thread = false, .names = true, .class_of = false}));
  if (const FdRecord* what = record_target(call, fds).what) {
    note(event, "target", escape_name(target_name(*what)));
    note(event, "class", name_of(what->fd_class));
  }
  if (call.finished()) note(event, "result", call.result);
}

}  // namespace

void ProtoWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(static_cast<unsigned char>(value | 0x80));
  text_ += static_cast<char>(value);
}

ProtoWriter& ProtoWriter::number(int field, uint64_t value) {
  varint(static_cast<uint64_t>(field) << 3);
  varint(value);
  return *this;
}

ProtoWriter& ProtoWriter::bytes(int field, std::string_view value) {
  varint(static_cast<uint64_t>(field) << 3 | 2);
  varint(value.size());
  text_ += value;
  return *this;
}

// Descriptions of the process's and the thread's track, where they are new.
std::string PerfettoWriter::tracks_of(const Call& call) {
  std::string out;
  if (known_.insert(process_track(call.process)).second) {
    ProtoWriter process;
    process.number(kProcessPid, static_cast<uint32_t>(call.process)).bytes(kProcessName, node_);
    ProtoWriter track;
    track.number(kTrackUuid, process_track(call.process)).bytes(kTrackProcess, process.text());
    ProtoWriter inside;
    if (std::exchange(first_, false)) inside.number(kPacketFlags, kStateCleared);
    out += packet(inside.bytes(kPacketTrack, track.text()));
  }
  if (!known_.insert(thread_track(call)).second) return out;
  ProtoWriter thread;
  thread.number(kThreadPid, static_cast<uint32_t>(call.process)).number(kThreadTid, static_cast<uint32_t>(call.thread));
  ProtoWriter track;
  track.number(kTrackUuid, thread_track(call))
      .number(kTrackParent, process_track(call.process))
      .bytes(kTrackThread, thread.text());
  ProtoWriter inside;
  return out + packet(inside.bytes(kPacketTrack, track.text()));
}

std::string PerfettoWriter::add(const Call& call, const FdMap& fds) {
  bool slice = call.kind == CallKind::call;  // completions overlap the calls of their thread, so they are instants
  ProtoWriter event;
  event.number(kEventType, slice ? kBegin : kInstant).number(kEventTrack, thread_track(call));
  event.bytes(kEventCategory, kind_name(call.kind)).bytes(kEventName, record_name(call));
  add_notes(event, call, fds);
  std::string out = tracks_of(call) + event_packet(slice ? call.start_ns : call.end_ns(), event);
  if (!slice || !call.finished()) return out;  // a slice without an end is shown as not finished
  ProtoWriter end;
  end.number(kEventType, kEnd).number(kEventTrack, thread_track(call));
  return out + event_packet(call.end_ns(), end);
}

}  // namespace culprit
