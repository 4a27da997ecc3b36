// SPDX-License-Identifier: Apache-2.0
#include "core/container/foreign/foreign_probes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>

#include "core/base/json/json_head.h"
#include "core/container/foreign/foreign_formats.h"

namespace ctxfs::foreign {
namespace {

using namespace std::string_view_literals;

unsigned ByteAt(Bytes bytes, size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

/// The last bytes of the file; nullopt if it is shorter, unreadable, or
/// unknown.
template <size_t kSize>
std::optional<std::array<std::byte, kSize>> Tail(const Source* source,
                                                 const Request& request) {
  std::array<std::byte, kSize> bytes{};
  if (source == nullptr || source->size() < kSize) return std::nullopt;
  if (!source->ReadAt(source->size() - kSize, bytes, request))
    return std::nullopt;
  return bytes;
}

uint64_t SizeOf(Bytes head, const Source* source) {
  return source != nullptr ? source->size() : head.size();
}

struct Field {
  uint64_t number;
  unsigned wire;
  uint64_t value;    // of a varint, or the length of bytes
  Bytes start = {};  // its first bytes, at most those of one read
  bool cut = false;  // the file ends within the field
};

constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kBytes = 2;
constexpr unsigned kFixed32 = 5;

/// Reads a varint of `bytes` from `at` on; nullopt if there is none.
std::optional<uint64_t> Varint(Bytes bytes, size_t& at) {
  constexpr unsigned kMaxBits = 64;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < kMaxBits && at < bytes.size(); shift += 7) {
    const uint64_t byte = ByteAt(bytes, at++);
    value |= (byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Parses the file as one message and calls `take` with at most 256 fields.
/// Returns false as soon as `take` does, if a read fails, or if the file is no
/// message. A field truncated by the end of the file is passed as the last one.
bool WalkFields(Bytes head, const Source* source,
                const std::function<bool(const Field&)>& take,
                const Request& request) {
  constexpr size_t kTagAndLength = 20;
  constexpr int kMaxFields = 256;
  const uint64_t end = SizeOf(head, source);
  uint64_t at = 0;
  for (int i = 0; i < kMaxFields && at < end; ++i) {
    std::array<std::byte, kTagAndLength> read{};
    Bytes bytes(read.data(), std::min<uint64_t>(kTagAndLength, end - at));
    if (source == nullptr) {
      bytes = head.subspan(at, bytes.size());
    } else if (!source->ReadAt(at, {read.data(), bytes.size()}, request)) {
      return false;
    }
    size_t used = 0;
    const std::optional<uint64_t> tag = Varint(bytes, used);
    if (!tag) return false;
    Field field{*tag >> 3, static_cast<unsigned>(*tag & 7U), 0};
    uint64_t rest = 0;  // bytes after tag and varint
    if (field.wire == kVarint || field.wire == kBytes) {
      const std::optional<uint64_t> value = Varint(bytes, used);
      if (!value) return false;
      field.value = *value;
      if (field.wire == kBytes) rest = *value;
    } else if (field.wire == kFixed64 || field.wire == kFixed32) {
      rest = field.wire == kFixed64 ? 8 : 4;
    } else {
      return false;
    }
    field.start = bytes.subspan(used);
    field.cut = end - at - used < rest;
    if (!take(field)) return false;
    if (field.cut) break;
    at += used + rest;
  }
  return true;
}

}  // namespace

bool IsOrc(Bytes head, const Source* source, const Request& request) {
  const auto tail = Tail<4>(source, request);
  return AsText(head).starts_with("ORC") && tail &&
         AsText(*tail).starts_with("ORC");
}

bool IsLance(Bytes /*head*/, const Source* source, const Request& request) {
  const auto tail = Tail<4>(source, request);
  return tail && AsText(*tail) == "LANC";
}

bool IsHdf5WithUserBlock(Bytes head, const Source* source,
                         const Request& request) {
  constexpr uint64_t kFirst = 512;
  constexpr uint64_t kLast = uint64_t{1} << 20;
  constexpr std::string_view kMagic = "\x89HDF\r\n\x1a\n";
  for (uint64_t at = kFirst; at <= kLast; at *= 2) {
    std::array<std::byte, kMagic.size()> found{};
    if (source == nullptr || SizeOf(head, source) < at + found.size() ||
        !source->ReadAt(at, found, request)) {
      return false;
    }
    if (AsText(found) == kMagic) return true;
  }
  return false;
}

bool IsMds(Bytes head, const Source* source, const Request& request) {
  if (head.size() < 12 || source == nullptr) return false;
  const uint64_t count = LoadLe<uint32_t>(head.data());
  const uint64_t size = source->size();
  const uint64_t last_at = 4 + 4 * count;  // of the last offset
  std::array<std::byte, 5> end{};          // the last offset, and the first
                                           // byte of JSON
  if (count == 0 || size < last_at + end.size()) return false;
  const uint64_t first = LoadLe<uint32_t>(head.data() + 4);
  if (!source->ReadAt(last_at, end, request)) return false;
  return LoadLe<uint32_t>(end.data()) == size && end[4] == std::byte{'{'} &&
         first > last_at + 4 && first <= size;
}

bool IsArrowStream(Bytes head, const Source* source,
                   const Request& /*request*/) {
  constexpr size_t kMessage = 8;  // after the mark and the length
  if (head.size() < kMessage + 4) return false;
  const uint64_t length = LoadLe<uint32_t>(head.data() + 4);
  const Bytes message = head.subspan(
      kMessage, std::min<uint64_t>(length, head.size() - kMessage));
  if (length < 16 || length > SizeOf(head, source) || message.size() < 16) {
    return false;
  }
  // A flatbuffer starts with the offset of its root table. A table starts with
  // the distance back to its vtable. Slot 6 of this vtable is for the type of
  // the header.
  const uint64_t root = LoadLe<uint32_t>(message.data());
  if (root > message.size() - 4) return false;
  const int64_t table =
      static_cast<int64_t>(root) - LoadLe<int32_t>(message.data() + root);
  constexpr int64_t kTypeSlot = 6;
  if (table < 0 ||
      table + kTypeSlot + 2 > static_cast<int64_t>(message.size())) {
    return false;
  }
  const uint64_t type_at =
      root + LoadLe<uint16_t>(message.data() + table + kTypeSlot);
  return type_at < message.size() && message[type_at] == std::byte{1};
}

bool IsCpio(Bytes head, const Source* /*source*/, const Request& /*request*/) {
  constexpr size_t kDigits = 70;  // of a header, at least
  const std::string_view text = AsText(head);
  return text.size() >= 6 + kDigits &&
         text.substr(6, kDigits).find_first_not_of("0123456789ABCDEFabcdef") ==
             std::string_view::npos;
}

bool IsPickle(Bytes head, const Source* source, const Request& request) {
  constexpr std::string_view kText[] = {
      "(dp0\n", "(lp0\n", "(dp1\n", "(lp1\n", "ccopy_reg\n_reconstructor\n",
      "}q\0"sv, "]q\0"sv};
  const std::string_view text = AsText(head);
  for (const std::string_view begin : kText) {
    if (text.starts_with(begin)) return true;
  }
  if (text.size() < 4 || text[0] != '\x80' || text[1] < 2 || text[1] > 5) {
    return false;
  }
  // The last opcode must be STOP.
  const auto tail = Tail<1>(source, request);
  const bool stops =
      source == nullptr || (tail && (*tail)[0] == std::byte{'.'});
  constexpr std::string_view kFirst =
      "}](c\x95K\x8cX\x8a)N\x88\x89GJMC\x8f\x96UB";
  return stops && kFirst.find(text[2]) != std::string_view::npos;
}

bool IsJoblib(Bytes head, const Source* source, const Request& request) {
  constexpr uint64_t kLookedAt = 64 * 1024;
  constexpr std::string_view kClass = "joblib.numpy_pickle";
  if (!AsText(head).starts_with('\x80')) return false;
  if (source == nullptr) {
    return AsText(head).find(kClass) != std::string_view::npos;
  }
  const Result<Buffer> start = ReadBuffer(
      *source, 0, std::min(source->size(), kLookedAt), "pickle", request);
  return start && AsText(start->span()).find(kClass) != std::string_view::npos;
}

bool IsMsgpack(Bytes head, const Source* /*source*/,
               const Request& /*request*/) {
  if (head.size() < 6) return false;
  size_t at = 1;
  const unsigned map = ByteAt(head, 0);
  if (map == 0xDE || map == 0xDF) {
    at = map == 0xDE ? 3 : 5;
  } else if (map <= 0x80 || map > 0x8F) {
    return false;
  }
  const unsigned key = ByteAt(head, at++);
  size_t length = key & 0x1FU;
  if (key == 0xD9 && at < head.size()) {
    length = ByteAt(head, at++);
  } else if (key < 0xA0 || key > 0xBF) {
    return false;
  }
  if (length < 2 || head.size() - at <= length) return false;
  const std::string_view text = AsText(head.subspan(at, length));
  constexpr unsigned kNever = 0xC1;  // no value starts with it
  return ByteAt(head, at + length) != kNever &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

namespace {

/// Whether a number of a field, packed or not, is 0.
bool HasZero(const Field& field) {
  if (field.wire == kVarint) return field.value == 0;
  const Bytes packed =
      field.start.first(std::min<uint64_t>(field.start.size(), field.value));
  for (size_t at = 0; at < packed.size();) {
    const std::optional<uint64_t> number = Varint(packed, at);
    if (!number) return false;
    if (*number == 0) return true;
  }
  return false;
}

}  // namespace

bool IsOnnxTensor(Bytes head, const Source* source, const Request& request) {
  constexpr unsigned kV = 1U << kVarint;
  constexpr unsigned kB = 1U << kBytes;
  constexpr unsigned k32 = 1U << kFixed32;
  constexpr unsigned k64 = 1U << kFixed64;
  // The wire types that each field of TensorProto (onnx.proto) may have, by
  // number: none for 0 and 15, and from 1 on dims, data_type, segment, data as
  // floats, int32, strings and int64, name, raw_data, data as doubles and
  // uint64, doc_string, external_data, data_location, and (16) metadata_props.
  constexpr unsigned kWires[] = {0,  kV | kB, kV, kB, kB | k32, kB | kV,
                                 kB, kB | kV, kB, kB, kB | k64, kB | kV,
                                 kB, kB,      kV, 0,  kB};
  constexpr uint64_t kDims = 1;
  constexpr uint64_t kType = 2;
  constexpr uint64_t kMaxType = 64;
  constexpr std::string_view kData = "\4\5\6\7\x9\xa\xb\xd";
  bool typed = false;
  bool has_data = false;
  const bool walked = WalkFields(
      head, source,
      [&](const Field& field) {
        if (field.number >= std::size(kWires)) return false;
        // A tensor with a dim of 0 has no data.
        has_data = has_data || (field.number == kDims && HasZero(field));
        if (field.number == kType) {
          typed = field.value > 0 && field.value <= kMaxType;
          if (!typed) return false;
        }
        const bool is_data = kData.find(static_cast<char>(field.number)) !=
                             std::string_view::npos;
        has_data = has_data || is_data;
        return (kWires[field.number] >> field.wire & 1U) != 0 &&
               (is_data || !field.cut);
      },
      request);
  return walked && typed && has_data;
}

// saved_model.proto: saved_model_schema_version = 1, meta_graphs = 2.
bool IsSavedModel(Bytes head, const Source* source, const Request& request) {
  bool has_graph = false;
  const bool walked = WalkFields(
      head, source,
      [&](const Field& field) {
        has_graph = has_graph || field.number == 2;
        return !field.cut && ((field.number == 1 && field.wire == kVarint &&
                               field.value == 1) ||
                              (field.number == 2 && field.wire == kBytes));
      },
      request);
  return walked && has_graph;
}

// Model.proto: specificationVersion = 1, description = 2, isUpdatable = 10, the
// model itself from 200 on.
bool IsCoreMl(Bytes head, const Source* source, const Request& request) {
  constexpr uint64_t kMaxVersion = 64;
  constexpr uint64_t kFirstModel = 200;
  constexpr uint64_t kLastModel = 4000;
  bool has_version = false;
  bool has_model = false;
  const bool walked = WalkFields(
      head, source,
      [&](const Field& field) {
        if (field.number >= kFirstModel && field.number <= kLastModel) {
          has_model = field.wire == kBytes && !field.cut;
          return has_model;
        }
        if (field.cut) return false;
        has_version = has_version || field.number == 1;
        return (field.number == 1 && field.wire == kVarint && field.value > 0 &&
                field.value <= kMaxVersion) ||
               (field.number == 2 && field.wire == kBytes) ||
               (field.number == 10 && field.wire == kVarint);
      },
      request);
  return walked && has_version && has_model;
}

bool IsLitData(Bytes head, const Source* /*source*/,
               const Request& /*request*/) {
  if (AsText(head).find("\"chunks\"") == std::string_view::npos) return false;
  return JsonHead(AsText(head)).contains("chunks//chunk_bytes");
}

bool IsTextShards(Bytes head, const Source* /*source*/,
                  const Request& /*request*/) {
  if (AsText(head).find("\"shards\"") == std::string_view::npos) return false;
  const auto members = JsonHead(AsText(head));
  const auto format = members.find("shards//format");
  constexpr std::array kFormats = {"json"sv, "csv"sv, "tsv"sv, "xsv"sv};
  return format != members.end() &&
         std::ranges::find(kFormats, format->second) != kFormats.end();
}

bool IsZlib(Bytes head, const Source* /*source*/, const Request& /*request*/) {
  constexpr unsigned kModulus = 31;
  return head.size() >= 6 && head[0] == std::byte{0x78} &&
         (0x7800U + ByteAt(head, 1)) % kModulus == 0 &&
         (ByteAt(head, 1) & 0x20U) == 0;
}

bool IsLzma(Bytes head, const Source* /*source*/, const Request& /*request*/) {
  constexpr size_t kHeader = 13;
  constexpr unsigned kMaxProperties = (4 * 5 + 4) * 9 + 8;
  constexpr uint64_t kMaxSize = uint64_t{1} << 38;
  if (head.size() <= kHeader || ByteAt(head, 0) > kMaxProperties) return false;
  ByteReader in(head.subspan(1));
  const uint32_t dictionary = in.U32();
  const uint64_t size = in.U64();
  // Usual sizes are 2^n and 2^n + 2^(n - 1), from 4 KiB on.
  const bool usual =
      dictionary >= 4096 &&
      (std::has_single_bit(dictionary) ||
       (dictionary % 3 == 0 && std::has_single_bit(dictionary / 3)));
  return usual && (size == UINT64_MAX || size < kMaxSize) &&
         head[kHeader] == std::byte{0};
}

bool IsCompress(Bytes head, const Source* /*source*/,
                const Request& /*request*/) {
  constexpr unsigned kBits = 0x1F;
  constexpr unsigned kReserved = 0x60;
  if (head.size() < 3) return false;
  const unsigned flags = ByteAt(head, 2);
  return (flags & kReserved) == 0 && (flags & kBits) >= 9 &&
         (flags & kBits) <= 16;
}

bool IsBrotli(Bytes head, const Source* source, const Request& /*request*/) {
  return source != nullptr && source->name().ends_with(".br") &&
         !LooksLikeText(head);
}

}  // namespace ctxfs::foreign
