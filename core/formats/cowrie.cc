// SPDX-License-Identifier: Apache-2.0
//
// Cowrie gen2 (docs/sampleshard.md, sections 3 and 4).
//
//   0   "SJ", u8 version 2
//   3   u8 flags: 1 compressed, 2 and 4 by what (gzip, zstd), 8 hints
//   4   uvarint original length, if compressed; what follows is compressed
//   ..  hints to skip; a dictionary of names; one value
#include "core/formats/cowrie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/codec/codec.h"

namespace ctxfs {
namespace {

constexpr uint64_t kHeaderSize = 4;
constexpr uint8_t kVersion = 2;
constexpr uint8_t kCompressed = 0x01;
constexpr uint8_t kHints = 0x08;
// What JSON readers keep exact: integers of 53 bits.
constexpr int64_t kSafeInteger = 9007199254740991;

struct TensorType {
  uint8_t code;
  const char* name;
  uint64_t size;  // bytes of an element; packed types count bytes
  std::optional<DType> dtype;
};

constexpr TensorType kTensorTypes[] = {
    {0x01, "float32", 4, DType::kF32},   {0x02, "float16", 2, DType::kF16},
    {0x03, "bfloat16", 2, DType::kBf16}, {0x04, "int8", 1, DType::kI8},
    {0x05, "int16", 2, DType::kI16},     {0x06, "int32", 4, DType::kI32},
    {0x07, "int64", 8, DType::kI64},     {0x08, "uint8", 1, DType::kU8},
    {0x09, "uint16", 2, DType::kU16},    {0x0A, "uint32", 4, DType::kU32},
    {0x0B, "uint64", 8, DType::kU64},    {0x0C, "float64", 8, DType::kF64},
    {0x0D, "bool", 1, DType::kBool},     {0x10, "qint4", 1, std::nullopt},
    {0x11, "qint2", 1, std::nullopt},    {0x12, "qint3", 1, std::nullopt},
    {0x13, "ternary", 1, std::nullopt},  {0x14, "binary", 1, std::nullopt},
};

int64_t UnZigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

Json SignedJson(int64_t value) {
  if (value >= -kSafeInteger && value <= kSafeInteger) return value;
  return std::to_string(value);
}

Json UnsignedJson(uint64_t value) {
  if (value <= static_cast<uint64_t>(kSafeInteger)) return value;
  return std::to_string(value);
}

/// A big-endian two's complement number in decimal digits.
std::string BigInteger(Bytes bytes) {
  std::vector<uint32_t> magnitude;  // base 10^9, least first
  const bool negative =
      !bytes.empty() && std::to_integer<unsigned>(bytes[0]) >= 0x80;
  constexpr uint64_t kBase = 1'000'000'000;
  const auto multiply_add = [&magnitude](uint64_t factor, uint64_t carry) {
    for (uint32_t& digit : magnitude) {
      carry += digit * factor;
      digit = static_cast<uint32_t>(carry % kBase);
      carry /= kBase;
    }
    if (carry != 0) magnitude.push_back(static_cast<uint32_t>(carry));
  };
  // A negative number is minus one more than its bits turned over.
  for (const std::byte byte : bytes) {
    multiply_add(256, std::to_integer<uint64_t>(negative ? ~byte : byte));
  }
  if (negative) multiply_add(1, 1);
  if (magnitude.empty()) return "0";
  std::string text = negative ? "-" : "";
  text += std::to_string(magnitude.back());
  for (size_t i = magnitude.size() - 1; i-- > 0;) {
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%09u", magnitude[i]);
    text += digits;
  }
  return text;
}

/// `digits` with the point `scale` places from the right.
std::string Decimal(std::string digits, int scale) {
  if (scale == 0 || digits == "0") return digits;
  if (scale < 0) return digits + std::string(static_cast<size_t>(-scale), '0');
  const size_t sign = digits[0] == '-' ? 1 : 0;
  const auto places = static_cast<size_t>(scale);
  if (digits.size() - sign <= places) {
    digits.insert(sign, places + 1 - (digits.size() - sign), '0');
  }
  digits.insert(digits.size() - places, ".");
  return digits;
}

/// ISO 8601 in UTC, with as many digits of a second as there are.
std::string DateTime(int64_t ns) {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::nanoseconds;
  using std::chrono::sys_time;
  const sys_time<nanoseconds> time{nanoseconds(ns)};
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto rest = static_cast<uint64_t>((time - day).count());
  const uint64_t seconds = rest / 1'000'000'000;
  const uint64_t fraction = rest % 1'000'000'000;
  char text[64];
  std::snprintf(
      text, sizeof(text), "%04d-%02u-%02uT%02u:%02u:%02u",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<unsigned>(seconds / 3600),
      static_cast<unsigned>(seconds / 60 % 60),
      static_cast<unsigned>(seconds % 60));
  std::string iso = text;
  if (fraction != 0) {
    const bool micro = fraction % 1000 == 0;
    std::snprintf(text, sizeof(text), micro ? ".%06u" : ".%09u",
                  static_cast<unsigned>(micro ? fraction / 1000 : fraction));
    iso += text;
  }
  return iso + "Z";
}

std::string Uuid(Bytes bytes) {
  std::string text = Hex(AsText(bytes));
  for (const size_t at : {20U, 16U, 12U, 8U}) text.insert(at, "-");
  return text;
}

/// The name of a number, or the number.
Json NameOf(uint8_t number, std::initializer_list<const char*> names) {
  if (number == 0 || number > names.size()) return number;
  return names.begin()[number - 1];
}

/// Decodes what follows a frame's header. The first fault stays in `error`,
/// and everything stops at it.
class Decoder {
 public:
  explicit Decoder(Bytes bytes) : in_(bytes) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Result<Cowrie> Decode(bool hints) {
    if (hints) SkipHints();
    ReadDictionary();
    Cowrie cowrie;
    cowrie.value = Value();
    if (ok() && in_.remaining() != 0) {
      Fail("bytes follow the value: " + std::to_string(in_.remaining()));
    }
    if (!ok()) return TheError();
    cowrie.arrays = std::move(arrays_);
    return cowrie;
  }

 private:
  bool ok() const { return !error_ && in_.ok(); }
  Error TheError() {
    if (error_) return *std::move(error_);
    return {Code::kCorrupt, "cowrie: ends within a value", in_.offset()};
  }
  void Fail(std::string what, Code code = Code::kCorrupt) {
    if (ok()) error_ = Error{code, "cowrie: " + std::move(what), in_.offset()};
  }

  /// A count of things that take `least` bytes each, checked against the bytes
  /// that are there; 0 once anything has failed.
  uint64_t Count(uint64_t least) {
    const uint64_t count = in_.Uvarint();
    if (ok() && count > in_.remaining() / least) {
      Fail("a count of " + std::to_string(count) + " with " +
           std::to_string(in_.remaining()) + " bytes left");
    }
    return ok() ? count : 0;
  }

  /// Counts bytes of text and values that are made; false for too many.
  bool SpendText(uint64_t bytes) {
    if (bytes > limits::kCowrieText - text_) {
      Fail("its text is over the limit", Code::kLimit);
      return false;
    }
    text_ += bytes;
    return ok();
  }
  bool SpendValues(uint64_t values) {
    if (values > limits::kCowrieValues - values_) {
      Fail("over the limit of " + std::to_string(limits::kCowrieValues) +
               " values",
           Code::kLimit);
      return false;
    }
    values_ += values;
    return ok();
  }

  Bytes Data() { return in_.Take(Count(1)); }
  std::string_view View() { return AsText(Data()); }
  std::string Text() {
    const std::string_view text = View();
    return SpendText(text.size()) ? std::string(text) : std::string();
  }
  std::string Base64Of(Bytes data) {
    return SpendText(data.size() * 2) ? Base64(AsText(data)) : std::string();
  }
  Json Strings() {
    Json list = Json::array();
    for (uint64_t n = Count(1); n > 0 && ok() && SpendValues(1); --n) {
      list.push_back(Text());
    }
    return list;
  }

  void SkipHints() {
    for (uint64_t n = Count(4); n > 0 && ok(); --n) {
      Data();
      in_.Skip(1);
      for (uint64_t rank = Count(1); rank > 0 && ok(); --rank) in_.Uvarint();
      in_.Skip(1);
    }
  }

  void ReadDictionary() {
    const uint64_t count = Count(1);
    if (count > limits::kCowrieNames) {
      Fail("a dictionary of " + std::to_string(count) + " names", Code::kLimit);
      return;
    }
    for (uint64_t i = 0; i < count && ok(); ++i) names_.push_back(View());
  }

  /// A name by its place in the dictionary.
  std::string_view Name() {
    const uint64_t index = in_.Uvarint();
    if (ok() && index >= names_.size()) {
      Fail("name " + std::to_string(index) + " of a dictionary of " +
           std::to_string(names_.size()));
    }
    if (!ok()) return {};
    const std::string_view name = names_[static_cast<size_t>(index)];
    return SpendText(name.size()) ? name : std::string_view();
  }

  Json Value() {
    if (!SpendValues(1)) return nullptr;
    if (depth_ == limits::kCowrieDepth) {
      Fail("nested deeper than " + std::to_string(limits::kCowrieDepth),
           Code::kLimit);
      return nullptr;
    }
    ++depth_;
    Json value = Tagged(in_.U8());
    --depth_;
    return ok() ? std::move(value) : Json();
  }

  Json Tagged(uint8_t tag) {
    if (tag >= 0x40 && tag <= 0xBF) return tag - 0x40;
    if (tag >= 0xC0 && tag <= 0xCF) return Array(tag - 0xC0U);
    if (tag >= 0xD0 && tag <= 0xDF) return Object(tag - 0xD0U);
    if (tag >= 0xE0 && tag <= 0xEF) return -1 - (tag - 0xE0);
    return tag < 0x20 ? Basic(tag) : Typed(tag);
  }

  Json Basic(uint8_t tag) {
    switch (tag) {
      case 0x00:
        return nullptr;
      case 0x01:
        return false;
      case 0x02:
        return true;
      case 0x03:
        return SignedJson(UnZigzag(in_.Uvarint()));
      case 0x04:
        return std::bit_cast<double>(in_.U64());
      case 0x05:
        return Text();
      case 0x06:
        return Array(Count(1));
      case 0x07:
        return Object(Count(2));
      case 0x08:
        return Base64Of(Data());
      case 0x09:
        return UnsignedJson(in_.Uvarint());
      case 0x0A: {
        const auto scale = static_cast<int8_t>(in_.U8());
        const Bytes coefficient = in_.Take(16);
        SpendText(256);
        return Decimal(BigInteger(coefficient), scale);
      }
      case 0x0B:
        SpendText(32);
        return DateTime(static_cast<int64_t>(in_.U64()));
      case 0x0C: {
        const Bytes uuid = in_.Take(16);
        return ok() && SpendText(36) ? Json(Uuid(uuid)) : Json();
      }
      case 0x0D: {
        const Bytes integer = Data();
        if (integer.size() > limits::kCowrieBigIntBytes) {
          Fail("an integer of " + std::to_string(integer.size()) + " bytes",
               Code::kLimit);
          return nullptr;
        }
        return SpendText(integer.size() * 3) ? BigInteger(integer) : "";
      }
      case 0x0E: {
        const uint64_t type = in_.Uvarint();
        return {{"_type", "unknown_ext"},
                {"ext_type", UnsignedJson(type)},
                {"payload", Base64Of(Data())}};
      }
      case 0x0F:
        return static_cast<double>(std::bit_cast<float>(in_.U32()));
      default:
        return Invalid(tag);
    }
  }

  Json Typed(uint8_t tag) {
    SpendValues(4);
    switch (tag) {
      case 0x20:
        return Tensor();
      case 0x21: {
        const uint8_t store = in_.U8();
        return {{"_type", "tensor_ref"},
                {"store", store},
                {"key", Base64Of(Data())}};
      }
      case 0x22:
        return Image();
      case 0x23:
        return Audio();
      case 0x24: {
        const uint64_t bits = in_.Uvarint();
        const Bytes mask = in_.Take(bits / 8 + (bits % 8 != 0 ? 1 : 0));
        return {{"_type", "bitmask"},
                {"count", UnsignedJson(bits)},
                {"bits", Base64Of(mask)}};
      }
      case 0x30:
        return Adjacency();
      case 0x31:
        return RichText();
      case 0x32:
        return Delta();
      case 0x35:
        return Node(/*typed=*/true);
      case 0x36:
        return Edge(/*typed=*/true);
      case 0x37:
        return {{"_type", "node_batch"}, {"nodes", Nodes(Count(3), true)}};
      case 0x38:
        return {{"_type", "edge_batch"}, {"edges", Edges(Count(4), true)}};
      case 0x39: {
        Json graph = Json::object();
        graph["_type"] = "graph_shard";
        graph["nodes"] = Nodes(Count(3), false);
        graph["edges"] = Edges(Count(4), false);
        graph["metadata"] = Object(Count(2));
        return graph;
      }
      default:
        return Invalid(tag);
    }
  }

  Json Invalid(uint8_t tag) {
    Fail("tag " + std::to_string(tag) + " is unknown");
    return nullptr;
  }

  Json Array(uint64_t count) {
    Json array = Json::array();
    const size_t path = path_.size();
    for (uint64_t i = 0; i < count && ok(); ++i) {
      path_ += '/' + std::to_string(i);
      array.push_back(Value());
      path_.resize(path);
    }
    return array;
  }

  Json Object(uint64_t count) {
    Json object = Json::object();
    const size_t path = path_.size();
    for (uint64_t i = 0; i < count && ok(); ++i) {
      const std::string_view name = Name();
      path_ += '/';
      path_ += name;
      Json value = Value();
      path_.resize(path);
      // Of equal names the last wins, as in the reference.
      if (ok()) object[std::string(name)] = std::move(value);
    }
    return object;
  }

  Json Tensor() {
    const uint8_t code = in_.U8();
    const auto* type =
        std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                     [code](const TensorType& t) { return t.code == code; });
    if (type == std::end(kTensorTypes)) {
      Fail("tensor type " + std::to_string(code) + " is unknown");
      return nullptr;
    }
    const uint8_t rank = in_.U8();
    if (rank > limits::kCowrieRank) {
      Fail("a tensor of rank " + std::to_string(rank), Code::kLimit);
      return nullptr;
    }
    std::vector<uint64_t> shape(rank);
    std::optional<uint64_t> size = type->size;
    for (uint64_t& dim : shape) {
      dim = in_.Uvarint();
      if (size) size = CheckedMul(*size, dim);
    }
    const Bytes data = Data();
    if (ok() && size != data.size()) {
      Fail("a tensor's " + std::to_string(data.size()) +
           " bytes are not what its shape makes");
    }
    SpendValues(rank);
    if (type->dtype && SpendText(path_.size() + data.size())) {
      arrays_.push_back(
          {path_, *type->dtype, shape, std::string(AsText(data))});
    }
    return {{"_type", "tensor"},
            {"dtype", type->name},
            {"shape", shape},
            {"data", Base64Of(data)}};
  }

  Json Image() {
    const uint8_t format = in_.U8();
    const uint16_t width = in_.U16();
    const uint16_t height = in_.U16();
    return {{"_type", "image"},
            {"format", NameOf(format, {"jpeg", "png", "webp", "avif", "bmp"})},
            {"width", width},
            {"height", height},
            {"data", Base64Of(Data())}};
  }

  Json Audio() {
    const uint8_t encoding = in_.U8();
    const uint32_t rate = in_.U32();
    const uint8_t channels = in_.U8();
    return {{"_type", "audio"},
            {"encoding",
             NameOf(encoding, {"pcm_int16", "pcm_float32", "opus", "aac"})},
            {"rate", rate},
            {"channels", channels},
            {"data", Base64Of(Data())}};
  }

  Json Numbers(uint64_t count) {
    Json list = Json::array();
    for (; count > 0 && SpendValues(1); --count) {
      list.push_back(UnsignedJson(in_.Uvarint()));
    }
    return list;
  }

  Json Adjacency() {
    const uint8_t width = in_.U8();
    if (width != 1 && width != 2) Fail("an adjacency of unknown width");
    const uint64_t nodes = in_.Uvarint();
    const uint64_t edges = in_.Uvarint();
    const uint64_t id_size = width == 1 ? 4 : 8;
    if (ok() && (nodes >= in_.remaining() ||
                 edges > (in_.remaining() - nodes) / id_size)) {
      Fail("an adjacency longer than its bytes");
    }
    if (!ok()) return nullptr;
    Json offsets = Numbers(nodes + 1);
    Json ids = Json::array();
    for (uint64_t i = 0; i < edges && SpendValues(1); ++i) {
      ids.push_back(width == 1 ? Json(static_cast<int32_t>(in_.U32()))
                               : SignedJson(static_cast<int64_t>(in_.U64())));
    }
    return {{"_type", "adjlist"},
            {"id_width", width == 1 ? "int32" : "int64"},
            {"node_count", nodes},
            {"edge_count", edges},
            {"row_offsets", std::move(offsets)},
            {"col_indices", std::move(ids)}};
  }

  Json RichText() {
    constexpr uint8_t kTokens = 1;
    constexpr uint8_t kSpans = 2;
    Json rich = {{"_type", "rich_text"}, {"text", Text()}};
    const uint8_t flags = in_.U8();
    if ((flags & kTokens) != 0) {
      Json tokens = Json::array();
      for (uint64_t n = Count(4); n > 0 && SpendValues(1); --n) {
        tokens.push_back(static_cast<int32_t>(in_.U32()));
      }
      rich["tokens"] = std::move(tokens);
    }
    if ((flags & kSpans) != 0) {
      Json spans = Json::array();
      for (uint64_t n = Count(3); n > 0 && SpendValues(4); --n) {
        const uint64_t start = in_.Uvarint();
        const uint64_t end = in_.Uvarint();
        spans.push_back({{"start", UnsignedJson(start)},
                         {"end", UnsignedJson(end)},
                         {"kind", UnsignedJson(in_.Uvarint())}});
      }
      rich["spans"] = std::move(spans);
    }
    return rich;
  }

  Json Delta() {
    const uint64_t base = in_.Uvarint();
    Json steps = Json::array();
    for (uint64_t n = Count(2); n > 0 && SpendValues(3); --n) {
      const uint8_t op = in_.U8();
      Json step = Json::object();
      step["op"] = NameOf(op, {"set", "delete", "append"});
      if (!step["op"].is_string()) Fail("an unknown step in a delta");
      step["field"] = std::string(Name());
      if (op != 2) step["value"] = Value();
      steps.push_back(std::move(step));
    }
    return {{"_type", "delta"},
            {"base", UnsignedJson(base)},
            {"ops", std::move(steps)}};
  }

  /// `typed`: as the reference projects it, alone and in batches.
  Json Node(bool typed) {
    Json node = Json::object();
    node["id"] = Text();
    if (typed) node["_type"] = "node";
    node["labels"] = Strings();
    node["props"] = Object(Count(2));
    return node;
  }

  Json Edge(bool typed) {
    Json edge = Json::object();
    edge[typed ? "fromId" : "from"] = Text();
    if (typed) edge["_type"] = "edge";
    edge[typed ? "toId" : "to"] = Text();
    edge["type"] = Text();
    edge["props"] = Object(Count(2));
    return edge;
  }

  Json Nodes(uint64_t count, bool typed) {
    Json nodes = Json::array();
    for (; count > 0 && SpendValues(4); --count) nodes.push_back(Node(typed));
    return nodes;
  }

  Json Edges(uint64_t count, bool typed) {
    Json edges = Json::array();
    for (; count > 0 && SpendValues(5); --count) edges.push_back(Edge(typed));
    return edges;
  }

  ByteReader in_;
  std::vector<std::string_view> names_;
  std::vector<CowrieArray> arrays_;
  std::string path_;  // of the value being read
  std::optional<Error> error_;
  unsigned depth_ = 0;
  uint64_t values_ = 0;
  uint64_t text_ = 0;
};

/// What a frame's compressed bytes decode to.
Result<Buffer> Decompress(uint8_t kind, uint64_t length, Bytes stored) {
  constexpr uint8_t kGzip = 1;
  constexpr uint8_t kZstd = 2;
  if (length > limits::kCowrieBytes) {
    return Error{Code::kLimit,
                 "cowrie: decodes to " + std::to_string(length) +
                     " bytes, over the limit of " +
                     std::to_string(limits::kCowrieBytes),
                 kHeaderSize};
  }
  if (kind != kGzip && kind != kZstd) {
    return Error{Code::kCorrupt,
                 "cowrie: compression " + std::to_string(kind) + " is unknown",
                 kHeaderSize - 1};
  }
  Buffer plain(static_cast<size_t>(length));
  Status decoded = kind == kGzip ? DecodeGzip(stored, plain.span())
                                 : DecodeZstd(stored, plain.span());
  if (!decoded) return std::move(decoded).error();
  return plain;
}

}  // namespace

bool LooksLikeCowrie(Bytes bytes) { return AsText(bytes).starts_with("SJ"); }

Result<Cowrie> DecodeCowrie(Bytes bytes) {
  ByteReader in(bytes);
  in.Skip(2);
  const uint8_t version = in.U8();
  const uint8_t flags = in.U8();
  if (!in.ok() || !LooksLikeCowrie(bytes)) {
    return Error{Code::kCorrupt, "cowrie: no value in a frame", 0};
  }
  if (version != kVersion) {
    return Error{Code::kVersion,
                 "cowrie: version " + std::to_string(version) +
                     " is not supported, only 2 is",
                 2};
  }
  if ((flags & kCompressed) == 0) {
    return Decoder(in.Take(in.remaining())).Decode((flags & kHints) != 0);
  }
  const uint64_t length = in.Uvarint();
  if (!in.ok()) {
    return Error{Code::kCorrupt, "cowrie: no length of what is compressed",
                 kHeaderSize};
  }
  const auto kind = static_cast<uint8_t>(flags >> 1 & 3U);
  const Result<Buffer> plain =
      Decompress(kind, length, in.Take(in.remaining()));
  if (!plain) return plain.error();
  // There are no hints within, and no second frame.
  return Decoder(plain->span()).Decode(/*hints=*/false);
}

}  // namespace ctxfs
