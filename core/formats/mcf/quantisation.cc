// SPDX-License-Identifier: Apache-2.0
//
// Quantised payloads of MCF (docs/formats/mcf.md, sections 6 and 7): finds the
// layout, and computes any window of the values.
//
//   q8, q4     float16 scales, one per block | codes
//   k6 .. k2   float16 super-scales, one for eight blocks | sub-scales, one per
//              block | codes
//   int8, int4 float32 scale | float32 zero, in one layout | codes
//
// Each region starts at a multiple of 64 from the payload's start. Blocks, and
// scales of each kind, follow one another through all rows. So the blocks of a
// window are one range of bytes in each region.
#include "core/formats/mcf/quantisation.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/codec/numbers/dequant.h"
#include "core/codec/numbers/half.h"

namespace ctxfs::mcf {
namespace {

using Kind = McfQuantLayout::Kind;

constexpr uint64_t kRegionAlignment = 64;
constexpr uint64_t kHalfBytes = 2;
constexpr uint64_t kBlocksPerSuper = 8;
// int8 and int4: the scale is at 0, the zero at 64.
constexpr uint64_t kZeroAt = 64;
constexpr uint64_t kWeightsCodesAt = 64;
constexpr uint64_t kActivationsCodesAt = 128;

// Blocks decoded at a time: 512 KiB of values, which fit in the L2 cache.
constexpr uint64_t kBatch = 4096;

struct TypeCode {
  uint32_t code;
  std::string_view name;
  unsigned bits = 0;  // of a code
};

constexpr TypeCode kTypeCodes[] = {
    {0, "unknown"},  {1, "f32"},        {2, "f16"},
    {3, "bf16"},     {4, "f64"},        {5, "i8"},
    {6, "u8"},       {7, "i16"},        {8, "u16"},
    {9, "i32"},      {10, "u32"},       {11, "i64"},
    {12, "u64"},     {0x10, "int8", 8}, {kMcfInt4, "int4", 4},
    {0x20, "q8", 8}, {0x21, "q4", 4},   {0x30, "k6", 6},
    {0x31, "k4", 4}, {0x32, "k3", 3},   {0x33, "k2", 2},
};

const TypeCode* TypeOf(uint32_t code) {
  const auto found = std::ranges::find(kTypeCodes, code, &TypeCode::code);
  return found == std::end(kTypeCodes) ? nullptr : found;
}

unsigned BitsOf(uint32_t code) {
  const TypeCode* type = TypeOf(code);
  return type == nullptr ? 0 : type->bits;
}

uint64_t AlignUp(uint64_t size) {
  return (size + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}

uint64_t DivideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

Error Unfit(std::string what) { return {Code::kCorrupt, std::move(what)}; }

Error WrongSize(uint64_t have, const std::string& want) {
  return Unfit(fmt::format(
      "its {} bytes are not the {} that its type and shape need", have, want));
}

/// The layout of int8 and int4 (section 7), which the size alone determines.
Result<McfQuantLayout> OneScaleLayout(McfQuantLayout layout,
                                      std::span<const uint64_t> shape,
                                      uint64_t size) {
  const std::optional<uint64_t> elements = McfElements(shape);
  if (!elements) return Unfit("its shape has more than 2^64 elements");
  const uint64_t count = *elements;
  const uint64_t codes = layout.bits == 8 ? count : DivideUp(count, 2);
  if (size != codes &&
      (size < codes || (size - codes != kWeightsCodesAt &&
                        size - codes != kActivationsCodesAt))) {
    const std::string n = std::to_string(codes);
    return WrongSize(size, n + ", " + n + " + 64 or " + n + " + 128");
  }
  layout.codes_at = size - codes;
  layout.kind = layout.codes_at == 0 ? Kind::kCodesOnly : Kind::kOneScale;
  layout.has_zero = layout.codes_at == kActivationsCodesAt;
  layout.rows = 1;
  layout.columns = count;
  layout.blocks_per_row = DivideUp(count, kBlockCodes);
  return layout;
}

/// The layout of the types with blocks (section 6).
Result<McfQuantLayout> BlockLayout(McfQuantLayout layout,
                                   std::span<const uint64_t> shape,
                                   uint64_t size) {
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0) {
    return Unfit("its shape does not have two dims, neither of them 0");
  }
  layout.rows = shape[0];
  layout.columns = shape[1];
  layout.blocks_per_row = DivideUp(layout.columns, kBlockCodes);
  const std::optional<uint64_t> blocks =
      CheckedMul(layout.rows, layout.blocks_per_row);
  // A block takes at least 8 bytes, so the sums below cannot overflow.
  if (!blocks || *blocks > size / BlockBytes(2)) {
    return WrongSize(size, "more");
  }
  if (layout.kind == Kind::kBlockScales) {
    layout.codes_at = AlignUp(*blocks * kHalfBytes);
  } else {
    layout.supers_per_row = DivideUp(layout.blocks_per_row, kBlocksPerSuper);
    layout.sub_scales_at =
        AlignUp(layout.rows * layout.supers_per_row * kHalfBytes);
    layout.codes_at = AlignUp(layout.sub_scales_at + *blocks);
  }
  const uint64_t want = layout.codes_at + *blocks * BlockBytes(layout.bits);
  if (size != want) return WrongSize(size, std::to_string(want));
  return layout;
}

float FloatAt(const std::byte* p) {
  return std::bit_cast<float>(LoadLe<uint32_t>(p));
}

class ValuesTransform final : public Transform {
 public:
  ValuesTransform(std::shared_ptr<const Source> source, uint64_t offset,
                  const McfQuantLayout& layout)
      : source_(std::move(source)), offset_(offset), layout_(layout) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    if (out.empty()) return {};
    const uint64_t last_byte = offset + out.size() - 1;
    const uint64_t last = BlockOf(last_byte / sizeof(float));
    for (uint64_t block = BlockOf(offset / sizeof(float)); block <= last;) {
      const uint64_t count = std::min(kBatch, last - block + 1);
      const Batch batch = CTXFS_TRY(ReadBatch(block, count, context));
      Fill(batch, offset, out);
      block += count;
    }
    return {};
  }

 private:
  /// Stored codes and scales of consecutive blocks.
  struct Batch {
    uint64_t first = 0;
    uint64_t count = 0;
    Buffer codes;
    std::vector<float> scales;  // one per block; not for kOneScale
    float scale = 0;            // kOneScale
    float zero = 0;
  };

  uint64_t BlockOf(uint64_t element) const {
    return element / layout_.columns * layout_.blocks_per_row +
           element % layout_.columns / kBlockCodes;
  }

  Result<Buffer> Read(uint64_t at, uint64_t length, const char* what,
                      const Request& request) const {
    return ReadBuffer(*source_, offset_ + at, length, what, request);
  }

  Result<Batch> ReadBatch(uint64_t first, uint64_t count,
                          const Request& request) const {
    Batch batch;
    batch.first = first;
    batch.count = count;
    CTXFS_TRY(layout_.kind == Kind::kOneScale ? ReadScale(batch, request)
              : layout_.kind == Kind::kBlockScales
                  ? ReadScales(batch, request)
                  : ReadSupers(batch, request));
    // The last block of int8 and int4 may be stored incompletely.
    const uint64_t at = layout_.codes_at + first * BlockBytes(layout_.bits);
    const size_t whole = count * BlockBytes(layout_.bits);
    const size_t there = std::min(whole, layout_.payload_size - at);
    batch.codes = Buffer(whole);
    CTXFS_TRY(source_->ReadAt(offset_ + at, batch.codes.span().first(there),
                              request));
    std::memset(batch.codes.data() + there, 0, whole - there);
    return batch;
  }

  Status ReadScale(Batch& batch, const Request& request) const {
    const Buffer head = CTXFS_TRY(
        Read(0, layout_.has_zero ? kZeroAt + sizeof(float) : sizeof(float),
             "scale", request));
    batch.scale = FloatAt(head.data());
    if (layout_.has_zero) batch.zero = FloatAt(head.data() + kZeroAt);
    return {};
  }

  Status ReadScales(Batch& batch, const Request& request) const {
    const Buffer halves = CTXFS_TRY(Read(
        batch.first * kHalfBytes, batch.count * kHalfBytes, "scales", request));
    batch.scales.resize(batch.count);
    for (size_t i = 0; i < batch.count; ++i) {
      batch.scales[i] =
          HalfToFloat(LoadLe<uint16_t>(halves.data() + i * kHalfBytes));
    }
    return {};
  }

  Status ReadSupers(Batch& batch, const Request& request) const {
    const Buffer subs = CTXFS_TRY(Read(layout_.sub_scales_at + batch.first,
                                       batch.count, "sub-scales", request));
    const uint64_t first = SuperOf(batch.first);
    const uint64_t last = SuperOf(batch.first + batch.count - 1);
    const Buffer supers =
        CTXFS_TRY(Read(first * kHalfBytes, (last - first + 1) * kHalfBytes,
                       "scales", request));

    batch.scales.resize(batch.count);
    uint64_t in_row = batch.first % layout_.blocks_per_row;
    const std::byte* super = supers.data();
    for (size_t i = 0; i < batch.count; ++i) {
      const auto sub = LoadLe<uint8_t>(subs.data() + i) & 0x3F;
      const float whole = HalfToFloat(LoadLe<uint16_t>(super));
      // A sub-scale of zero yields zero even if the super-scale is infinite.
      batch.scales[i] =
          sub == 0 ? 0.0F : whole * (static_cast<float>(sub) / 32.0F);
      ++in_row;
      const bool row_ends = in_row == layout_.blocks_per_row;
      if (row_ends || in_row % kBlocksPerSuper == 0) super += kHalfBytes;
      if (row_ends) in_row = 0;
    }
    return {};
  }

  uint64_t SuperOf(uint64_t block) const {
    return block / layout_.blocks_per_row * layout_.supers_per_row +
           block % layout_.blocks_per_row / kBlocksPerSuper;
  }

  /// Decodes `count` blocks from the batch's block `i` on.
  void Decode(const Batch& batch, size_t i, size_t count,
              std::byte* out) const {
    const std::byte* codes = batch.codes.data() + i * BlockBytes(layout_.bits);
    if (layout_.kind == Kind::kOneScale) {
      FastestDequant().affine(layout_.bits, codes, batch.scale, batch.zero,
                              count, out);
    } else {
      FastestDequant().blocks(layout_.bits, codes, batch.scales.data() + i,
                              count, out);
    }
  }

  /// Writes the batch's values that are in the window `out` at `offset`.
  void Fill(const Batch& batch, uint64_t offset, MutableBytes out) const {
    const uint64_t end = offset + out.size();
    for (uint64_t i = 0; i < batch.count;) {
      const uint64_t row = (batch.first + i) / layout_.blocks_per_row;
      const uint64_t column =
          (batch.first + i) % layout_.blocks_per_row * kBlockCodes;
      const uint64_t at = (row * layout_.columns + column) * sizeof(float);
      // Decodes whole blocks directly into `out`: to the end of the row, or
      // further if rows consist of whole blocks.
      uint64_t run = layout_.columns % kBlockCodes == 0
                         ? batch.count - i
                         : (layout_.columns - column) / kBlockCodes;
      run =
          at < offset || at >= end
              ? 0
              : std::min({run, batch.count - i, (end - at) / kBlockFloatBytes});
      if (run > 0) {
        Decode(batch, i, run, out.data() + (at - offset));
        i += run;
        continue;
      }
      std::byte values[kBlockFloatBytes];
      Decode(batch, i, 1, values);
      const uint64_t length =
          std::min<uint64_t>(kBlockCodes, layout_.columns - column) *
          sizeof(float);
      const uint64_t from = std::max(at, offset);
      const uint64_t to = std::min(at + length, end);
      if (from < to) {
        std::memcpy(out.data() + (from - offset), values + (from - at),
                    to - from);
      }
      ++i;
    }
  }

  std::shared_ptr<const Source> source_;
  const uint64_t offset_;
  const McfQuantLayout layout_;
};

/// Decodes int4 codes: two in each byte, the lower bits first, each stored as
/// code + 8.
class NibbleTransform final : public Transform {
 public:
  NibbleTransform(std::shared_ptr<const Source> source, uint64_t offset)
      : source_(std::move(source)), offset_(offset) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    if (out.empty()) return {};
    const uint64_t first = offset / 2;
    const uint64_t last = (offset + out.size() - 1) / 2;
    const Buffer bytes = CTXFS_TRY(ReadBuffer(
        *source_, offset_ + first, last - first + 1, "codes", context));
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t element = offset + i;
      const auto pair = LoadLe<uint8_t>(bytes.data() + (element / 2 - first));
      const int nibble = element % 2 == 0 ? pair & 15 : pair >> 4;
      out[i] = static_cast<std::byte>(nibble - 8);
    }
    return {};
  }

 private:
  std::shared_ptr<const Source> source_;
  const uint64_t offset_;
};

}  // namespace

std::optional<uint64_t> McfElements(std::span<const uint64_t> shape) {
  // Looks for a zero first, because the product of the other dims may exceed 64
  // bits.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  uint64_t count = 1;
  for (const uint64_t dim : shape) {
    const std::optional<uint64_t> product = CheckedMul(count, dim);
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

std::string McfDTypeName(uint32_t code) {
  const TypeCode* type = TypeOf(code);
  return type == nullptr ? fmt::format("dtype_{}", code)
                         : std::string(type->name);
}

std::optional<DType> McfPlainDType(uint32_t code) {
  const TypeCode* type = TypeOf(code);
  return type == nullptr ? std::nullopt : DTypeOf(type->name);
}

bool IsMcfQuantised(uint32_t code) { return BitsOf(code) != 0; }

Result<McfQuantLayout> McfLayoutOf(uint32_t dtype,
                                   std::span<const uint64_t> shape,
                                   uint64_t size) {
  // The values take up to 16 times the payload, and their size must fit in 64
  // bits.
  if (size > UINT64_MAX / 16) return Unfit("it is too large to decode");
  McfQuantLayout layout;
  layout.bits = BitsOf(dtype);
  layout.payload_size = size;
  if (dtype < kMcfFirstWithBlocks) return OneScaleLayout(layout, shape, size);
  layout.kind =
      dtype < kMcfFirstWithSupers ? Kind::kBlockScales : Kind::kSuperScales;
  return BlockLayout(layout, shape, size);
}

std::shared_ptr<const Transform> McfValues(std::shared_ptr<const Source> source,
                                           uint64_t offset,
                                           const McfQuantLayout& layout) {
  return std::make_shared<const ValuesTransform>(std::move(source), offset,
                                                 layout);
}

std::shared_ptr<const Transform> McfNibbles(
    std::shared_ptr<const Source> source, uint64_t offset) {
  return std::make_shared<const NibbleTransform>(std::move(source), offset);
}

}  // namespace ctxfs::mcf
