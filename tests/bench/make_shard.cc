// SPDX-License-Identifier: Apache-2.0
//
// make_shard OUT COUNT SIZE none|zstd|lz4 [SEED]: a Shard v2 container of COUNT
// entries of SIZE bytes, named as a model's tensors are, with right CRC-32C.
// The bytes are like float32 weights: random mantissas, few exponents. Equal
// arguments make equal files.
#include <lz4.h>
#include <xxhash.h>
#include <zstd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"

namespace ctxfs {
namespace {

constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kRecordSize = 48;
constexpr uint64_t kAlignment = 64;
constexpr uint16_t kHasChecksums = 0x0020;
constexpr int kZstdLevel = 3;

struct Request {
  std::string path;
  uint32_t count = 0;
  size_t size = 0;
  Codec codec = Codec::kNone;
  uint64_t seed = 1;
};

struct Name {
  std::string text;
  uint32_t offset;
};

struct Entry {
  uint64_t offset;
  uint64_t stored;
  uint32_t crc;
};

/// Little-endian fields in order.
class Fields {
 public:
  template <typename T>
  Fields& Put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
    }
    return *this;
  }
  std::string Padded(size_t size) {
    bytes_.resize(size);
    return bytes_;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// splitmix64: small, fast, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

uint64_t AlignUp(uint64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

/// The name of entry `i`: layers of a mixture of experts, in an order in which
/// index, listing and sorted names agree.
std::string NameOf(uint32_t i) {
  constexpr std::array<const char*, 4> kProjections = {"k", "o", "q", "v"};
  constexpr uint32_t kExperts = 16;
  constexpr uint32_t kAttention = 2 * kProjections.size();
  constexpr uint32_t kPerLayer = kAttention + 2 * kExperts;
  const uint32_t tensor = i % kPerLayer;
  char name[64];
  if (tensor < kAttention) {
    std::snprintf(name, sizeof(name), "layers/%05u/attn/%s_proj.%s",
                  i / kPerLayer, kProjections[tensor / 2],
                  tensor % 2 == 0 ? "bias" : "weight");
  } else {
    const uint32_t expert = (tensor - kAttention) / 2;
    std::snprintf(name, sizeof(name), "layers/%05u/mlp/expert_%02u.w%u.weight",
                  i / kPerLayer, expert, tensor % 2 + 1);
  }
  return name;
}

/// Float32 that came from a bfloat16 model: 7 bits of mantissa are random, the
/// sign too, and the exponent falls off as that of weights does.
void FillWeights(Random& random, std::vector<char>& bytes) {
  constexpr uint32_t kLargestExponent = 122;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
    const uint64_t bits = random.Next();
    const auto mantissa = static_cast<uint32_t>(bits & 0x7FU) << 16;
    const auto sign = static_cast<uint32_t>(bits >> 63) << 31;
    const auto below =
        static_cast<uint32_t>(std::countr_zero((bits >> 7) | 0x80U));
    const uint32_t weight = sign | (kLargestExponent - below) << 23 | mantissa;
    std::memcpy(bytes.data() + at, &weight,
                std::min(sizeof(weight), bytes.size() - at));
  }
}

std::string Compress(Codec codec, const std::vector<char>& bytes) {
  std::string out;
  if (codec == Codec::kZstd) {
    out.resize(ZSTD_compressBound(bytes.size()));
    const size_t n = ZSTD_compress(out.data(), out.size(), bytes.data(),
                                   bytes.size(), kZstdLevel);
    if (ZSTD_isError(n) != 0) throw std::runtime_error(ZSTD_getErrorName(n));
    out.resize(n);
  } else if (codec == Codec::kLz4) {
    const auto size = static_cast<int>(bytes.size());
    out.resize(static_cast<size_t>(LZ4_compressBound(size)));
    const int n = LZ4_compress_default(bytes.data(), out.data(), size,
                                       static_cast<int>(out.size()));
    if (n <= 0) throw std::runtime_error("lz4 failed");
    out.resize(static_cast<size_t>(n));
  } else {
    out.assign(bytes.begin(), bytes.end());
  }
  return out;
}

uint16_t EntryFlags(Codec codec) {
  if (codec == Codec::kZstd) return 0x0003;
  return codec == Codec::kLz4 ? 0x0005 : 0;
}

class Writer {
 public:
  explicit Writer(const Request& request) : request_(request) {
    out_.exceptions(std::ios::failbit | std::ios::badbit);
    out_.open(request.path, std::ios::binary);
  }

  /// Writes the container; returns the sum of the stored sizes.
  uint64_t Run() {
    MakeNames();
    const uint64_t strings = kHeaderSize + kRecordSize * request_.count;
    const uint64_t data = AlignUp(strings + table_.size());
    const uint64_t end = WriteData(data);
    out_.seekp(0);
    WriteHeader(strings, data, end);
    WriteIndex();
    out_ << table_;
    out_.close();
    return stored_;
  }

 private:
  void MakeNames() {
    for (uint32_t i = 0; i < request_.count; ++i) {
      names_.push_back({NameOf(i), static_cast<uint32_t>(table_.size())});
      table_ += names_.back().text + '\0';
    }
  }

  uint64_t WriteData(uint64_t at) {
    Random random(request_.seed);
    std::vector<char> bytes(request_.size);
    for (uint32_t i = 0; i < request_.count; ++i) {
      FillWeights(random, bytes);
      const std::string stored = Compress(request_.codec, bytes);
      at = AlignUp(at);
      out_.seekp(static_cast<std::streamoff>(at));
      out_ << stored;
      entries_.push_back(
          {at, stored.size(), Crc32c(AsBytes({bytes.data(), bytes.size()}))});
      at += stored.size();
      stored_ += stored.size();
    }
    return at;
  }

  void WriteHeader(uint64_t strings, uint64_t data, uint64_t end) {
    Fields header;
    header.Put(uint32_t{0x44524853}).Put(uint8_t{2}).Put(uint8_t{1});
    header.Put(kHasChecksums).Put(uint8_t{kAlignment});
    header.Put(static_cast<uint8_t>(request_.codec));
    header.Put(uint16_t{kRecordSize}).Put(request_.count);
    header.Put(strings).Put(data).Put(uint64_t{0}).Put(end);
    out_ << header.Padded(kHeaderSize);
  }

  void WriteIndex() {
    for (uint32_t i = 0; i < request_.count; ++i) {
      const auto& [name, name_offset] = names_[i];
      const Entry& entry = entries_[i];
      Fields record;
      record.Put(uint64_t{XXH64(name.data(), name.size(), 0)});
      record.Put(name_offset).Put(static_cast<uint16_t>(name.size()));
      record.Put(EntryFlags(request_.codec)).Put(entry.offset);
      record.Put(entry.stored).Put(uint64_t{request_.size}).Put(entry.crc);
      record.Put(uint32_t{0});
      out_ << record.bytes();
    }
  }

  const Request& request_;
  std::ofstream out_;
  std::vector<Name> names_;
  std::vector<Entry> entries_;
  std::string table_;
  uint64_t stored_ = 0;
};

bool ParseCodec(const std::string& name, Codec* codec) {
  for (const Codec one : {Codec::kNone, Codec::kZstd, Codec::kLz4}) {
    if (name != CodecName(one)) continue;
    *codec = one;
    return true;
  }
  return false;
}

int Main(int argc, char** argv) {
  Request request;
  if (argc < 5 || argc > 6 || !ParseCodec(argv[4], &request.codec)) {
    std::fputs("usage: make_shard OUT COUNT SIZE none|zstd|lz4 [SEED]\n",
               stderr);
    return 1;
  }
  request.path = argv[1];
  request.count = static_cast<uint32_t>(std::stoul(argv[2]));
  request.size = std::stoull(argv[3]);
  if (argc == 6) request.seed = std::stoull(argv[5]);
  const uint64_t stored = Writer(request).Run();
  const double plain =
      static_cast<double>(request.count) * static_cast<double>(request.size);
  std::printf("%.0f bytes in %u entries, %s, ratio %.2f\n", plain,
              request.count, argv[4], plain / static_cast<double>(stored));
  return 0;
}

}  // namespace
}  // namespace ctxfs

int main(int argc, char** argv) {
  try {
    return ctxfs::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_shard: %s\n", error.what());
    return 1;
  }
}
