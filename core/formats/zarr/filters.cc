// SPDX-License-Identifier: Apache-2.0
//
// Codecs of arrays (docs/formats/zarr.md, section 4).
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/content/strided.h"
#include "core/formats/zarr/chain.h"

namespace ctxfs::zarr {
namespace {

/// The bit of a number at which its stored byte i begins.
size_t ShiftOf(const NumberType& type, size_t i) {
  return 8 * (type.big ? type.size() - 1 - i : i);
}

Number LoadNumber(const NumberType& type, const std::byte* at) {
  uint64_t bits = 0;
  for (size_t i = 0; i < type.size(); ++i) {
    bits |= std::to_integer<uint64_t>(at[i]) << ShiftOf(type, i);
  }
  return NumberOf(type.dtype, bits);
}

void StoreNumber(const NumberType& type, Number number, std::byte* at) {
  const uint64_t bits = BitsOf(type.dtype, number);
  for (size_t i = 0; i < type.size(); ++i) {
    at[i] = static_cast<std::byte>(bits >> ShiftOf(type, i));
  }
}

/// The sum of two numbers of type `dtype`, as numpy adds them: integers modulo
/// 2^n, floats rounded. For float32 the sum is computed in double and rounded
/// once, which gives the same bits.
Number Sum(DType dtype, Number a, Number b) {
  const uint64_t bits =
      IsFloat(dtype)
          ? BitsOf(dtype, static_cast<double>(a) + static_cast<double>(b))
          : BitsOf(dtype, a) + BitsOf(dtype, b);
  return NumberOf(dtype, bits);
}

/// The type that a configuration names at `key`; `otherwise` if it names none.
Result<NumberType> TypeAt(const Json& configuration, const char* key,
                          const NumberType& otherwise) {
  const Json* const name = MemberAt(configuration, key);
  if (name == nullptr || name->is_null()) return otherwise;
  const std::optional<NumberType> type =
      name->is_string() ? NumberNamed(name->get<std::string>()) : std::nullopt;
  if (type && !IsComplex(type->dtype)) return *type;
  return BadCodecs(std::string(key) + " of a filter is no type of numbers");
}

/// The types of elements before and after a filter has encoded them.
struct Types {
  NumberType shown;
  NumberType stored;
};

Result<Types> TypesAt(const Json& configuration, const char* shown,
                      const char* stored, const ChainBuilder& chain) {
  Types types;
  types.shown = CTXFS_TRY(TypeAt(configuration, shown, chain.number));
  types.stored = CTXFS_TRY(TypeAt(configuration, stored, types.shown));
  return types;
}

/// Adds a filter that encodes elements one by one. make() must return a
/// function that is called for all stored elements in order, and returns the
/// shown element for each.
template <typename Make>
Status AddElementwise(const Types& types, ChainBuilder& chain,
                      const Make& make) {
  if (types.shown.size() != chain.width) {
    return BadCodecs("a filter decodes to elements of another size");
  }
  const uint64_t count = *chain.bytes / chain.width;
  if (count > limits::kDecodedBytes) {
    return OverLimit(fmt::format("{} filtered elements are", count),
                     limits::kDecodedBytes);
  }
  const auto undo = [=](Coded& coded, const ReadContext& /*context*/) {
    Buffer out(static_cast<size_t>(count * types.shown.size()));
    auto next = make();
    const std::byte* from = coded.bytes.data();
    std::byte* to = out.data();
    for (uint64_t i = 0; i < count; ++i) {
      StoreNumber(types.shown, next(LoadNumber(types.stored, from)), to);
      from += types.stored.size();
      to += types.shown.size();
    }
    coded.Set(std::move(out));
    return Status();
  };
  chain.number = types.stored;
  chain.width = types.stored.size();
  chain.filtered = true;
  chain.Push(undo, count * chain.width);
  return {};
}

Status AddDelta(const Json& configuration, ChainBuilder& chain) {
  const Types types =
      CTXFS_TRY(TypesAt(configuration, "dtype", "astype", chain));
  const DType dtype = types.shown.dtype;
  return AddElementwise(types, chain, [dtype] {
    return [dtype, first = true, sum = Number{0}](Number stored) mutable {
      const Number more = NumberOf(dtype, BitsOf(dtype, stored));
      sum = std::exchange(first, false) ? more : Sum(dtype, sum, more);
      return sum;
    };
  });
}

/// Computes in float32 if the stored numbers are float32, else in float64.
/// numpy does the same for float32 and for integers.
Status AddScale(const Json& configuration, ChainBuilder& chain) {
  const Types types =
      CTXFS_TRY(TypesAt(configuration, "dtype", "astype", chain));
  const Json* const scale = MemberAt(configuration, "scale");
  const Json* const offset = MemberAt(configuration, "offset");
  if (scale == nullptr || offset == nullptr || !scale->is_number() ||
      !offset->is_number()) {
    return BadCodecs("fixedscaleoffset has no scale or no offset");
  }
  const auto undo = [narrow = types.stored.dtype == DType::kF32,
                     by = scale->get<double>(),
                     plus = offset->get<double>()](Number stored) -> Number {
    if (!narrow) return static_cast<double>(stored) / by + plus;
    return static_cast<float>(stored) / static_cast<float>(by) +
           static_cast<float>(plus);
  };
  return AddElementwise(types, chain, [undo] { return undo; });
}

Status AddConversion(const Result<Types>& types, ChainBuilder& chain) {
  if (!types) return types.error();
  return AddElementwise(*types, chain,
                        [] { return [](Number stored) { return stored; }; });
}

Status AddQuantize(const Json& configuration, ChainBuilder& chain) {
  return AddConversion(TypesAt(configuration, "dtype", "astype", chain), chain);
}

Status AddAsType(const Json& configuration, ChainBuilder& chain) {
  return AddConversion(
      TypesAt(configuration, "decode_dtype", "encode_dtype", chain), chain);
}

/// Decoding needs no step, because rounding cannot be undone.
Status AddBitRound(const Json& /*configuration*/, ChainBuilder& /*chain*/) {
  return {};
}

Status UndoPackBits(Coded& coded, uint64_t count) {
  const Bytes in = coded.bytes;
  const auto padding = std::to_integer<unsigned>(in[0]);
  if (padding > 7 || 8 * (in.size() - 1) != count + padding) {
    return Error{Code::kCorrupt,
                 fmt::format("packbits: {} bits of padding are not those of {} "
                             "elements",
                             padding, count),
                 0};
  }
  Buffer out(static_cast<size_t>(count));
  for (size_t i = 0; i < count; ++i) {
    out.data()[i] = in[1 + i / 8] >> (7 - i % 8) & std::byte{1};
  }
  coded.Set(std::move(out));
  return {};
}

Status AddPackBits(const Json& /*configuration*/, ChainBuilder& chain) {
  if (chain.number.dtype != DType::kBool) {
    return BadCodecs("packbits follows no booleans");
  }
  const uint64_t count = *chain.bytes;
  const uint64_t after = count / 8 + (count % 8 == 0 ? 0 : 1) + 1;
  chain.number = {DType::kU8};
  chain.shape = {after};
  chain.filtered = true;
  chain.Push(
      [count](Coded& coded, const ReadContext& /*context*/) {
        return UndoPackBits(coded, count);
      },
      after);
  return {};
}

Status ReadOrder(const Json& configuration, size_t rank, Indices& order) {
  const Error bad = BadCodecs("the order of transpose is no permutation");
  const Json* const list = MemberAt(configuration, "order");
  if (list == nullptr || !list->is_array() || list->size() != rank) return bad;
  for (const Json& one : *list) {
    const uint64_t at =
        one.is_number_unsigned() ? one.get<uint64_t>() : UINT64_MAX;
    if (at >= rank || std::ranges::find(order, at) != order.end()) return bad;
    order.push_back(at);
  }
  return {};
}

/// Copies the elements of `coded` into row-major order. In `coded`, they are an
/// array of `shape` whose neighbours in dimension d are strides[d] bytes apart.
Status UndoTranspose(Coded& coded, const Indices& shape, const Indices& strides,
                     uint64_t width, const ReadContext& context) {
  Buffer out(coded.bytes.size());
  std::byte* to = out.data();
  const size_t last = shape.size() - 1;
  const Indices rows(shape.begin(), shape.end() - 1);
  CTXFS_TRY(ForEachIndex(Indices(last), rows, [&](const Indices& row) {
    const std::byte* from = coded.bytes.data();
    for (size_t i = 0; i < last; ++i) from += row[i] * strides[i];
    for (uint64_t i = 0; i < shape[last]; ++i) {
      std::memcpy(to, from, width);
      to += width;
      from += strides[last];
    }
    return context.Check();
  }));
  coded.Set(std::move(out));
  return {};
}

/// Dimension d of the stored array is dimension order[d] of the decoded one.
Status AddTranspose(const Json& configuration, ChainBuilder& chain) {
  Indices order;
  CTXFS_TRY(ReadOrder(configuration, chain.shape.size(), order));
  if (std::ranges::is_sorted(order)) return {};
  const Indices decoded = chain.shape;
  for (size_t d = 0; d < order.size(); ++d) chain.shape[d] = decoded[order[d]];
  if (chain.type.lines()) {
    if (!std::exchange(chain.chain.text_order, order).empty()) {
      return UnreadCodec("transpose, twice, of texts");
    }
    return {};
  }
  const Indices stored = RowMajorStrides(chain.shape);
  Indices strides(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    strides[order[d]] = stored[d] * chain.width;
  }
  chain.Push(
      [=, width = chain.width](Coded& coded, const ReadContext& context) {
        return UndoTranspose(coded, decoded, strides, width, context);
      },
      chain.bytes);
  return {};
}

constexpr ChunkCodec kArrayCodecs[] = {
    {"transpose", ChunkCodec::Stage::kArray, &AddTranspose},
    {"delta", ChunkCodec::Stage::kNumbers, &AddDelta},
    {"fixedscaleoffset", ChunkCodec::Stage::kNumbers, &AddScale},
    {"quantize", ChunkCodec::Stage::kNumbers, &AddQuantize},
    {"bitround", ChunkCodec::Stage::kNumbers, &AddBitRound},
    {"packbits", ChunkCodec::Stage::kNumbers, &AddPackBits},
    {"astype", ChunkCodec::Stage::kNumbers, &AddAsType},
};

}  // namespace

std::span<const ChunkCodec> ArrayCodecs() { return kArrayCodecs; }

void ChainBuilder::AddSwap() {
  const size_t unit = number.unit();
  if (unit == 1) return;
  Push(
      [unit](Coded& coded, const ReadContext& /*context*/) {
        Buffer out(coded.bytes.size());
        for (size_t i = 0; i + unit <= out.size(); i += unit) {
          std::ranges::reverse_copy(coded.bytes.subspan(i, unit),
                                    out.data() + i);
        }
        coded.Set(std::move(out));
        return Status();
      },
      bytes);
}

}  // namespace ctxfs::zarr
