// A call is expected to be like the one before it of the same thread and the same name: it follows at some small
// distance, works on a similar descriptor, at the next offset, with the same result. So calls are taken apart by thread
// (names and times) and then by name (durations, results, arguments), and each column holds differences between
// neighbours. Only which thread comes next, and the sequence numbers, are kept in the order of the log.
#include "calls/call_columns.h"

#include <array>
#include <numeric>
#include <unordered_map>

#include "calls/varint.h"

namespace culprit {

namespace {

constexpr size_t kLeastBytes = 6;  // a call has an entry in six columns at least

// Numbers for whatever comes, in the order of its first appearance. Most is found in a small table of the last seen:
// this is asked twice a call.
class Numbering {
 public:
  uint32_t of(uint64_t thing) {
    Recent& recent = recent_[(thing * 0x9e3779b97f4a7c15) >> 56];  // 2^64 / the golden ratio: spreads neighbours
    if (recent.known && recent.thing == thing) return recent.number;
    auto [it, fresh] = numbers_.try_emplace(thing, static_cast<uint32_t>(things_.size()));
    if (fresh) things_.push_back(thing);
    recent = {thing, it->second, true};
    return it->second;
  }
  const std::vector<uint64_t>& things() const { return things_; }

 private:
  struct Recent {
    uint64_t thing = 0;
    uint32_t number = 0;
    bool known = false;
  };
  std::array<Recent, 256> recent_{};
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::vector<uint64_t> things_;
};

uint64_t pair_of(uint32_t high, int32_t low) {
  return uint64_t{high} << 32 | static_cast<uint32_t>(low);
}
int32_t high_half(uint64_t pair) {
  return static_cast<int32_t>(static_cast<uint32_t>(pair >> 32));
}
int32_t low_half(uint64_t pair) {
  return static_cast<int32_t>(static_cast<uint32_t>(pair));
}

// Positions group by group, within a group as they were.
struct Groups {
  std::vector<uint32_t> order;
  std::vector<uint32_t> starts;  // of each group in `order`, and the end

  std::span<const uint32_t> group(size_t i) const {
    return std::span<const uint32_t>(order).subspan(starts[i], starts[i + 1] - starts[i]);
  }
};

Groups grouped(const std::vector<uint32_t>& order, const std::vector<uint32_t>& group_of, size_t groups) {
  Groups out{std::vector<uint32_t>(order.size()), std::vector<uint32_t>(groups + 1, 0)};
  for (uint32_t group : group_of) ++out.starts[group + 1];
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  std::vector<uint32_t> next = out.starts;
  for (uint32_t at : order) out.order[next[group_of[at]]++] = at;
  return out;
}

std::vector<uint32_t> as_they_come(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

unsigned arguments_in_use(const Call& call) {
  unsigned mask = 0;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.args[i] != 0) mask |= 1u << i;
  return mask;
}

class Encoder {
 public:
  explicit Encoder(std::span<const Call> calls) : calls_(calls) {
    for (const Call& call : calls) {
      thread_of_.push_back(threads_.of(pair_of(static_cast<uint32_t>(call.process), call.thread)));
      name_of_.push_back(names_.of(pair_of(static_cast<uint32_t>(call.kind), call.number)));
      masks_.resize(names_.things().size(), 0);
      masks_[name_of_.back()] |= arguments_in_use(call);
    }
    order_ = as_they_come(calls.size());
    by_thread_ = grouped(order_, thread_of_, threads_.things().size());
    by_name_ = grouped(by_thread_.order, name_of_, names_.things().size());
  }

  std::string encode() {
    put_tables();
    put_numbers(order_, thread_of_);
    put_differences(order_, [&](uint32_t at) { return calls_[at].sequence; });
    put_numbers(by_thread_.order, name_of_);
    put_starts();
    for (size_t name = 0; name < masks_.size(); ++name) put_name(by_name_.group(name), masks_[name]);
    return std::move(out_);
  }

 private:
  void put_tables() {
    put_varint(out_, calls_.size());
    put_varint(out_, base());
    put_varint(out_, threads_.things().size());
    for (uint64_t thread : threads_.things()) {
      put_signed(out_, high_half(thread));
      put_signed(out_, low_half(thread));
    }
    put_varint(out_, masks_.size());
    for (size_t name = 0; name < masks_.size(); ++name) {
      put_varint(out_, static_cast<uint64_t>(high_half(names_.things()[name])));
      put_signed(out_, low_half(names_.things()[name]));
      put_varint(out_, masks_[name]);
    }
  }
  uint64_t base() const { return calls_.empty() ? 0 : static_cast<uint64_t>(calls_.front().start_ns); }

  void put_numbers(const std::vector<uint32_t>& order, const std::vector<uint32_t>& numbers) {
    for (uint32_t at : order) put_varint(column_, numbers[at]);
    end_column();
  }
  template <class Value>
  void put_differences(std::span<const uint32_t> order, Value value) {
    uint64_t last = 0;
    for (uint32_t at : order) {
      uint64_t now = value(at);
      put_varint(column_, zigzag(now - last));
      last = now;
    }
    end_column();
  }
  void put_starts() {
    for (size_t thread = 0; thread < threads_.things().size(); ++thread) {
      uint64_t last = base();
      for (uint32_t at : by_thread_.group(thread)) {
        put_varint(column_, zigzag(static_cast<uint64_t>(calls_[at].start_ns) - last));
        last = static_cast<uint64_t>(calls_[at].end_ns());
      }
    }
    end_column();
  }
  void put_name(std::span<const uint32_t> order, unsigned mask) {
    for (uint32_t at : order) put_varint(column_, static_cast<uint64_t>(calls_[at].duration_ns) + 1);  // unfinished: 0
    end_column();
    put_differences(order, [&](uint32_t at) { return static_cast<uint64_t>(calls_[at].result); });
    for (size_t i = 0; i < 6; ++i)
      if ((mask >> i) & 1) put_differences(order, [&](uint32_t at) { return calls_[at].args[i]; });
  }
  void end_column() {
    put_column(out_, column_);
    column_.clear();
  }

  std::span<const Call> calls_;
  Numbering threads_, names_;
  std::vector<uint32_t> thread_of_, name_of_, order_;
  std::vector<unsigned> masks_;  // of each name: the arguments that are not always 0
  Groups by_thread_, by_name_;
  std::string out_, column_;
};

class Decoder {
 public:
  Decoder(std::string_view raw, std::vector<Call>& calls) : in_(raw), calls_(calls) {}

  // "" or what is wrong.
  std::string decode() {
    if (in_.next() != calls_.size()) return "it does not have the calls that its header says";
    base_ = in_.next();
    if (!get_threads() || !get_names()) return "its tables are wrong";
    std::vector<uint32_t> order = as_they_come(calls_.size());
    if (!get_numbers(order, thread_count_, thread_of_)) return "its threads are wrong";
    if (!get_differences(order, [&](uint32_t at, uint64_t value) { calls_[at].sequence = value; }))
      return "its sequence numbers are wrong";
    Groups by_thread = grouped(order, thread_of_, thread_count_);
    if (!get_numbers(by_thread.order, names_.size(), name_of_)) return "its call numbers are wrong";
    VarintReader starts = in_.column();
    Groups by_name = grouped(by_thread.order, name_of_, names_.size());
    for (size_t name = 0; name < names_.size(); ++name)
      if (!get_name(by_name.group(name), names_[name])) return "its arguments or results are wrong";
    if (!get_starts(by_thread, starts)) return "its times are wrong";
    set_threads();
    return in_.done() ? "" : "it goes on after its end";
  }

 private:
  struct Name {
    CallKind kind = CallKind::call;
    int32_t number = 0;
    uint64_t mask = 0;
  };

  bool get_threads() {
    uint64_t count = in_.next();
    if (count > calls_.size()) return false;
    thread_count_ = static_cast<size_t>(count);
    threads_.reserve(thread_count_);
    for (size_t i = 0; i < thread_count_; ++i) {
      int32_t process = in_.next_int32();
      threads_.emplace_back(process, in_.next_int32());
    }
    return in_.ok();
  }
  bool get_names() {
    uint64_t count = in_.next();
    if (count > calls_.size()) return false;
    names_.resize(static_cast<size_t>(count));
    for (Name& name : names_) {
      uint64_t kind = in_.next();
      name.number = in_.next_int32();
      name.mask = in_.next();
      if (kind >= kCallKinds || name.mask > 63) return false;
      name.kind = static_cast<CallKind>(kind);
    }
    return in_.ok();
  }
  bool get_numbers(const std::vector<uint32_t>& order, size_t limit, std::vector<uint32_t>& out) {
    VarintReader column = in_.column();
    out.resize(calls_.size());
    for (uint32_t at : order) {
      uint64_t number = column.next();
      if (number >= limit) return false;
      out[at] = static_cast<uint32_t>(number);
    }
    return column.done();
  }
  template <class Set>
  bool get_differences(std::span<const uint32_t> order, Set set) {
    VarintReader column = in_.column();
    uint64_t last = 0;
    for (uint32_t at : order) {
      last += unzigzag(column.next());
      set(at, last);
    }
    return column.done();
  }
  bool get_name(std::span<const uint32_t> order, const Name& name) {
    VarintReader durations = in_.column();
    for (uint32_t at : order) {
      calls_[at].kind = name.kind;
      calls_[at].number = name.number;
      calls_[at].duration_ns = static_cast<int64_t>(durations.next() - 1);
    }
    bool good = durations.done() && get_differences(order, [&](uint32_t at, uint64_t value) {
                  calls_[at].result = static_cast<int64_t>(value);
                });
    for (size_t i = 0; i < 6 && good; ++i)
      if ((name.mask >> i) & 1)
        good = get_differences(order, [&](uint32_t at, uint64_t value) { calls_[at].args[i] = value; });
    return good;
  }
  bool get_starts(const Groups& by_thread, VarintReader& column) {
    for (size_t thread = 0; thread < thread_count_; ++thread) {
      uint64_t last = base_;
      for (uint32_t at : by_thread.group(thread)) {
        calls_[at].start_ns = static_cast<int64_t>(last + unzigzag(column.next()));
        last = static_cast<uint64_t>(calls_[at].end_ns());
      }
    }
    return column.done();
  }
  void set_threads() {
    for (size_t at = 0; at < calls_.size(); ++at) {
      calls_[at].process = threads_[thread_of_[at]].first;
      calls_[at].thread = threads_[thread_of_[at]].second;
    }
  }

  VarintReader in_;
  std::vector<Call>& calls_;
  uint64_t base_ = 0;
  size_t thread_count_ = 0;
  std::vector<std::pair<int32_t, int32_t>> threads_;  // process, thread
  std::vector<Name> names_;
  std::vector<uint32_t> thread_of_, name_of_;
};

}  // namespace

std::string encode_calls(std::span<const Call> calls) {
  return Encoder(calls).encode();
}

Status decode_calls(std::string_view raw, size_t count, std::vector<Call>& calls) {
  if (count > raw.size() / kLeastBytes) return input_error("it is too short for the calls that its header says");
  calls.assign(count, Call{});
  std::string problem = Decoder(raw, calls).decode();
  if (!problem.empty()) return input_error(problem);
  return Ok{};
}

}  // namespace culprit
