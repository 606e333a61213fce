#include "calls/path_hash.h"

#include <bit>

#include "base/hash.h"

namespace culprit {

namespace {

// SipHash-2-4 of Aumasson and Bernstein: two rounds per eight bytes, four at the end.
struct Sip {
  uint64_t v0, v1, v2, v3;

  explicit Sip(const SipKey& key)
      : v0(key[0] ^ 0x736f6d6570736575),  // the paper's constants: "somepseudorandomlygeneratedbytes"
        v1(key[1] ^ 0x646f72616e646f6d),
        v2(key[0] ^ 0x6c7967656e657261),
        v3(key[1] ^ 0x7465646279746573) {}

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void word(uint64_t m) {
    v3 ^= m;
    round();
    round();
    v0 ^= m;
  }
  uint64_t end() {
    v2 ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

uint64_t little_endian(std::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = bytes.size(); i > 0; --i) word = word << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return word;
}

// Kernel names that tell nothing about anybody: "pipe:[7]", "anon_inode:[eventpoll]", "socket:[123]".
bool is_kernel_name(std::string_view name) {
  for (std::string_view start : {"pipe:", "anon_inode:", "socket:"})
    if (name.starts_with(start)) return true;
  return false;
}

bool is_hashed(std::string_view component) {
  return component.size() == 17 && component[0] == '~' &&
         component.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

constexpr std::string_view kDeleted = " (deleted)";  // what the kernel puts behind the name of a file that is gone

}  // namespace

uint64_t siphash24(std::string_view bytes, const SipKey& key) {
  Sip sip(key);
  uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) sip.word(little_endian(bytes.substr(0, 8)));
  sip.word(length << 56 | little_endian(bytes));
  return sip.end();
}

// A key of any length becomes 128 bits by hashing it twice with keys that differ; they need not be secret.
PathHasher::PathHasher(std::string key) : key_{siphash24(key, {1, 0}), siphash24(key, {2, 0})} {}

std::string PathHasher::component(std::string_view name) const {
  if (name.empty() || name == "." || name == ".." || name == "..." || is_hashed(name)) return std::string(name);
  return "~" + hash_name(siphash24(name, key_));
}

std::string PathHasher::hash(std::string_view name) const {
  if (is_kernel_name(name)) return std::string(name);
  bool deleted = name.ends_with(kDeleted);
  if (deleted) name.remove_suffix(kDeleted.size());
  std::string out;
  while (true) {
    size_t slash = name.find('/');
    out += component(name.substr(0, slash));
    if (slash == std::string_view::npos) break;
    out += '/';
    name.remove_prefix(slash + 1);
  }
  if (deleted) out += kDeleted;
  return out;
}

FdRecord PathHasher::hash(FdRecord record) const {
  record.name = hash(record.name);
  if (!record.protocol.starts_with("UNIX")) return record;
  for (std::string* end : {&record.local, &record.peer})
    if (end->find_first_not_of("0123456789") != std::string::npos) *end = hash(*end);  // else an inode's number
  return record;
}

}  // namespace culprit
