// SPDX-License-Identifier: Apache-2.0
#include "tests/mutation/mutator.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace ctxfs {
namespace {

/// splitmix64: a few lines, and the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// Below `n`, which is not 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Of(const std::vector<T>& choice) {
    return choice[Below(choice.size())];
  }

 private:
  uint64_t state_;
};

/// A number in the file that may be a count, size or offset into it.
struct Field {
  uint64_t at;
  unsigned width;
  uint64_t value;
};

uint64_t Load(const std::string& bytes, uint64_t at, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

void Store(std::string& bytes, uint64_t at, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width && at + i < bytes.size(); ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * i));
  }
}

/// Headers and indices lie at the front, in the formats with a directory at the
/// end at the back: there, whatever fits in the file is taken for a field.
std::vector<Field> FieldsOf(const std::string& bytes) {
  constexpr uint64_t kFront = 4096;
  constexpr uint64_t kBack = 512;
  std::vector<Field> fields;
  for (uint64_t at = 0; at + 4 <= bytes.size(); at += 2) {
    if (at >= kFront && at + kBack < bytes.size()) continue;
    for (const unsigned width : {2U, 4U, 8U}) {
      if (at % width != 0 || at + width > bytes.size()) continue;
      const uint64_t value = Load(bytes, at, width);
      if (value > 0 && value <= bytes.size())
        fields.push_back({at, width, value});
    }
  }
  return fields;
}

uint64_t Extreme(Random& random, const Field& field, uint64_t size) {
  const std::vector<uint64_t> values = {0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        8,
                                        0x7F,
                                        0x80,
                                        0xFF,
                                        0x100,
                                        0x7FFF,
                                        0x8000,
                                        0xFFFF,
                                        0x10000,
                                        0x7FFFFFFF,
                                        0x80000000,
                                        0xFFFFFFFF,
                                        0x100000000,
                                        uint64_t{1} << 40U,
                                        0x7FFFFFFFFFFFFFFF,
                                        uint64_t{1} << 63U,
                                        UINT64_MAX,
                                        UINT64_MAX - 7,
                                        UINT64_MAX - field.at,
                                        size,
                                        size - 1,
                                        size + 1,
                                        size - field.at,
                                        field.at,
                                        field.value + 1,
                                        field.value - 1,
                                        field.value * 2,
                                        0 - field.value,
                                        field.value + 8,
                                        field.value ^ 0x10,
                                        10'000'000,
                                        10'000'001,
                                        64 << 20U,
                                        1 << 30U,
                                        random.Next()};
  return random.Of(values);
}

void Flip(Random& random, std::string& bytes) {
  constexpr uint64_t kFront = 256;
  for (uint64_t n = 1 + random.Below(random.OneIn(2) ? 1 : 8); n > 0; --n) {
    const uint64_t within = random.OneIn(2)
                                ? std::min<uint64_t>(kFront, bytes.size())
                                : bytes.size();
    const uint64_t at = random.Below(within);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
  }
}

/// Cuts at a structural boundary, one byte beside it, or anywhere.
void Cut(Random& random, std::string& bytes) {
  const std::vector<Field> fields = FieldsOf(bytes);
  uint64_t at = random.Below(bytes.size());
  if (!fields.empty() && !random.OneIn(4)) {
    const Field& field = random.Of(fields);
    at = random.OneIn(2) ? field.at : field.value;
    if (random.OneIn(4)) at += random.OneIn(2) ? 1 : UINT64_MAX;
  }
  bytes.resize(std::min<uint64_t>(at, bytes.size()));
}

/// Where a number or word stands in JSON: formats have a part of their header
/// in it. [begin, end).
std::vector<std::pair<uint64_t, uint64_t>> WordsOf(const std::string& bytes) {
  constexpr uint64_t kMax = 1 << 16;
  std::vector<std::pair<uint64_t, uint64_t>> words;
  const auto in_word = [&](uint64_t i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    return std::isalnum(c) != 0 || c == '.' || c == '-';
  };
  const uint64_t size = std::min<uint64_t>(bytes.size(), kMax);
  for (uint64_t i = 1; i < size; ++i) {
    const bool starts = bytes[i - 1] == ':' || bytes[i - 1] == ' ' ||
                        bytes[i - 1] == '[' || bytes[i - 1] == '"';
    if (!starts || !in_word(i)) continue;
    uint64_t end = i;
    while (end < size && in_word(end)) ++end;
    if (end < size &&
        std::string(",]}\" ").find(bytes[end]) != std::string::npos) {
      words.emplace_back(i, end);
    }
    i = end;
  }
  return words;
}

void EditWord(Random& random, std::string& bytes,
              const std::vector<std::pair<uint64_t, uint64_t>>& words) {
  static const std::vector<std::string> values = {"0",
                                                  "1",
                                                  "-1",
                                                  "2",
                                                  "255",
                                                  "65535",
                                                  "65536",
                                                  "2147483647",
                                                  "2147483648",
                                                  "4294967295",
                                                  "4294967296",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "18446744073709551615",
                                                  "18446744073709551616",
                                                  "-9223372036854775808",
                                                  "1e308",
                                                  "1e999",
                                                  "-0.0",
                                                  "0.5",
                                                  "1e-320",
                                                  "NaN",
                                                  "Infinity",
                                                  "null",
                                                  "true",
                                                  "[]",
                                                  "{}",
                                                  "\"\"",
                                                  "\"../../etc/passwd\"",
                                                  "\"/\"",
                                                  "\"a\\u0000b\"",
                                                  "[[[[[[[[[[[[[[[[",
                                                  "1000000",
                                                  "10000001",
                                                  "\"\\ud800\"",
                                                  "..",
                                                  "none",
                                                  "fp16",
                                                  "int8",
                                                  "zstd",
                                                  "lz4",
                                                  "float32",
                                                  "u1"};
  const auto& [begin, end] = random.Of(words);
  const std::string& value = random.OneIn(3)
                                 ? bytes.substr(random.Of(words).first, 4)
                                 : random.Of(values);
  // In place where there is room, so that the offsets behind it still hold.
  std::string padded = value;
  if (!random.OneIn(3)) padded.resize(end - begin, ' ');
  bytes.replace(begin, end - begin, padded);
}

void EditField(Random& random, std::string& bytes) {
  const auto words = WordsOf(bytes);
  constexpr size_t kMuchText = 8;
  if (words.size() > kMuchText && random.OneIn(2)) {
    EditWord(random, bytes, words);
    return;
  }
  const std::vector<Field> fields = FieldsOf(bytes);
  constexpr uint64_t kWidths[] = {1, 2, 4, 8};
  Field field{random.Below(bytes.size()),
              static_cast<unsigned>(kWidths[random.Below(4)]), 0};
  if (!fields.empty() && !random.OneIn(8)) field = random.Of(fields);
  Store(bytes, field.at, field.width, Extreme(random, field, bytes.size()));
}

/// Puts a piece of `other` somewhere: over what is there, or in between; or
/// takes a piece out.
void Splice(Random& random, std::string& bytes, const std::string& other) {
  constexpr uint64_t kLongest = 256;
  const auto place = [&](const std::string& text) {
    const std::vector<Field> fields = FieldsOf(text);
    if (fields.empty() || random.OneIn(2)) return random.Below(text.size());
    const Field& field = random.Of(fields);
    return std::min<uint64_t>(random.OneIn(2) ? field.at : field.value,
                              text.size() - 1);
  };
  const uint64_t from = place(other);
  const std::string piece = other.substr(
      from, 1 + random.Below(random.OneIn(4) ? other.size() : kLongest));
  const uint64_t at = place(bytes);
  const uint64_t how = random.Below(4);
  if (how == 0) {
    bytes.insert(at, piece);
  } else if (how == 1) {
    bytes.erase(at, piece.size());
  } else {
    bytes.replace(at, std::min<uint64_t>(piece.size(), bytes.size() - at),
                  piece);
  }
}

void Swap(Random& random, std::string& bytes) {
  const std::vector<Field> fields = FieldsOf(bytes);
  if (fields.size() < 2) return Flip(random, bytes);
  const Field a = random.Of(fields);
  Field b = random.Of(fields);
  // Fields of one width, if they can be found: an offset with an offset.
  for (int tries = 0; tries < 16 && (b.width != a.width || b.at == a.at);
       ++tries) {
    b = random.Of(fields);
  }
  Store(bytes, a.at, a.width, b.value);
  Store(bytes, b.at, b.width, a.value);
}

}  // namespace

const char* DamageName(Damage damage) {
  constexpr const char* kNames[kDamages] = {"flips", "cut", "field", "splice",
                                            "swap"};
  return kNames[static_cast<int>(damage)];
}

Variant Mutator::Make(uint64_t number) const {
  Random random(seed_ * 0x100000001B3U ^ number);
  // Round and round, so that every golden file has as many variants.
  const GoldenCase& golden = cases_[number % cases_.size()];
  Variant variant{&golden, random.Of(golden.damageable), Damage::kFlips,
                  golden.files};
  std::string bytes = *golden.files.at(variant.damaged);
  const GoldenCase& other = random.OneIn(2) ? golden : random.Of(cases_);
  const std::string& donor = *other.files.at(random.Of(other.damageable));
  // Half the variants are damaged twice: what the first hides the second shows.
  for (uint64_t n = 1 + random.Below(2); n > 0; --n) {
    variant.damage = static_cast<Damage>(random.Below(kDamages));
    if (bytes.empty() || donor.empty()) {
      bytes += static_cast<char>(random.Next());
      continue;
    }
    switch (variant.damage) {
      case Damage::kFlips:
        Flip(random, bytes);
        break;
      case Damage::kCut:
        Cut(random, bytes);
        break;
      case Damage::kField:
        EditField(random, bytes);
        break;
      case Damage::kSplice:
        Splice(random, bytes, donor);
        break;
      case Damage::kSwap:
        Swap(random, bytes);
        break;
    }
  }
  variant.files[variant.damaged] =
      std::make_shared<const std::string>(std::move(bytes));
  return variant;
}

}  // namespace ctxfs
