// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/elements.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"

namespace ctxfs::onnx {
namespace {

/// Writes the values of a typed field, each truncated to an element's bits.
class ElementWriter {
 public:
  ElementWriter(const DecodedTensor& tensor, Buffer& out)
      : bits_(BitsOfValue(tensor.type)), values_(tensor.values), out_(out) {
    std::memset(out.data(), 0, out.size());
  }

  Status Put(uint64_t value, uint64_t at) {
    if (done_ >= values_) {
      return Error{
          Code::kCorrupt,
          fmt::format(
              "it has more values than the {} that its type and shape need",
              values_),
          at};
    }
    if (bits_ % 8 == 0) {
      PutBytes(value);
    } else {
      PutBits(value & ((1U << bits_) - 1));
    }
    ++done_;
    return {};
  }

  Status Finish(uint64_t at) const {
    if (done_ == values_) return {};
    return Error{Code::kCorrupt,
                 fmt::format("it has {} values, but its type and shape need {}",
                             done_, values_),
                 at};
  }

 private:
  /// A value of a packed type is a whole byte; of a complex type, one part.
  static unsigned BitsOfValue(const ElementType& type) {
    return type.IsPacked() ? 8 : type.bits / type.parts;
  }
  void PutBytes(uint64_t value) {
    const size_t width = bits_ / 8;
    for (size_t i = 0; i < width; ++i) {
      out_.data()[done_ * width + i] = static_cast<std::byte>(value >> (8 * i));
    }
  }
  void PutBits(uint64_t value) {
    for (unsigned i = 0; i < bits_; ++i) {
      const uint64_t bit = done_ * bits_ + i;
      out_.data()[bit / 8] |=
          static_cast<std::byte>((value >> i & 1U) << (bit % 8));
    }
  }

  const unsigned bits_;
  const uint64_t values_;
  Buffer& out_;
  uint64_t done_ = 0;
};

/// Writes a chunk of packed numbers of four or eight bytes.
Status PutFixed(WireReader& reader, WireRange chunk, size_t width,
                ElementWriter& writer) {
  std::string bytes;
  for (uint64_t at = chunk.begin; at < chunk.end;) {
    const uint64_t most = std::min<uint64_t>(chunk.end - at, 4096);
    bytes.clear();
    CTXFS_TRY(reader.Append({at, at + most}, bytes));
    for (size_t i = 0; i + width <= bytes.size(); i += width) {
      const std::byte* p = AsBytes(bytes).data() + i;
      CTXFS_TRY(writer.Put(
          width == 4 ? LoadLe<uint32_t>(p) : LoadLe<uint64_t>(p), at + i));
    }
    at += most;
  }
  return {};
}

Status PutVarints(WireReader& reader, WireRange chunk,
                  const ReadContext& context, ElementWriter& writer) {
  constexpr uint64_t kPerCheck = 65'536;
  uint64_t done = 0;
  for (uint64_t at = chunk.begin; at < chunk.end;) {
    if (done++ % kPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const uint64_t value = CTXFS_TRY(reader.Varint(at, chunk.end));
    CTXFS_TRY(writer.Put(value, at));
  }
  return {};
}

class DecodedBlock final : public Block {
 public:
  DecodedBlock(Key key, std::shared_ptr<const Source> source,
               std::shared_ptr<const DecodedTensor> tensor)
      : Block(key), source_(std::move(source)), tensor_(std::move(tensor)) {}

  uint64_t cost() const override { return tensor_->size; }
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    CTXFS_TRY(context.Charge(tensor_->size));
    WireReader reader(*source_, context);
    return tensor_->type.field == TypedField::kString ? Lines(reader)
                                                      : Values(reader, context);
  }

 private:
  Result<Buffer> Lines(WireReader& reader) const {
    const std::string text = CTXFS_TRY(StringText(reader, tensor_->message));
    Buffer out(text.size());
    if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
    return out;
  }

  Result<Buffer> Values(WireReader& reader, const ReadContext& context) const {
    Buffer out(static_cast<size_t>(tensor_->size));
    ElementWriter writer(*tensor_, out);
    const TypedField wanted = tensor_->type.field;
    const WireType type = WireTypeOf(wanted);
    Status read =
        reader.ForEach(tensor_->message, [&](const WireField& field) -> Status {
          if (field.number != static_cast<uint64_t>(wanted)) return {};
          if (field.type == type) return writer.Put(field.value, field.at);
          if (field.type != WireType::kBytes) return {};
          if (type == WireType::kVarint) {
            return PutVarints(reader, field.bytes, context, writer);
          }
          return PutFixed(reader, field.bytes, FixedBytes(type), writer);
        });
    if (read) read = writer.Finish(tensor_->message.front().begin);
    if (!read) return std::move(read).error();
    return out;
  }

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const DecodedTensor> tensor_;
};

/// Integers of `bits` bits as a byte each, sign-extended if the type is signed.
class Unpacked final : public Transform {
 public:
  Unpacked(Content packed, unsigned bits, bool has_sign)
      : packed_(std::move(packed)), bits_(bits), has_sign_(has_sign) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    if (out.empty()) return {};
    const uint64_t per_byte = 8 / bits_;
    const uint64_t first = offset / per_byte;
    const uint64_t last = (offset + out.size() - 1) / per_byte;
    Buffer bytes(static_cast<size_t>(last - first + 1));
    CTXFS_TRY(ReadInto(packed_, first, bytes.span(), context));
    const unsigned mask = (1U << bits_) - 1;
    const unsigned sign = has_sign_ ? 1U << (bits_ - 1) : 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t element = offset + i;
      const auto byte = std::to_integer<unsigned>(
          bytes.span()[static_cast<size_t>(element / per_byte - first)]);
      const unsigned value =
          byte >> (static_cast<unsigned>(element % per_byte) * bits_) & mask;
      out[i] = static_cast<std::byte>((value ^ sign) - sign);
    }
    return {};
  }
  Status Verify(const ReadContext& context) const override {
    return packed_.Verify(context);
  }

 private:
  const Content packed_;
  const unsigned bits_;
  const bool has_sign_;
};

}  // namespace

std::shared_ptr<const Block> DecodedElements(
    Key key, std::shared_ptr<const Source> source,
    std::shared_ptr<const DecodedTensor> tensor) {
  return std::make_shared<const DecodedBlock>(key, std::move(source),
                                              std::move(tensor));
}

Result<std::string> StringText(WireReader& reader, const WireRanges& message) {
  std::string text;
  Status read = reader.ForEach(message, [&](const WireField& field) -> Status {
    if (!field.IsBytes(static_cast<uint64_t>(TypedField::kString))) return {};
    std::string one;
    CTXFS_TRY(reader.Append(field.bytes, one));
    CTXFS_TRY(AppendAdmitted(text, JsonLine(std::move(one))));
    return AppendAdmitted(text, "\n");
  });
  if (!read) return std::move(read).error();
  return text;
}

Content UnpackIntegers(const ElementType& type, Content packed,
                       uint64_t count) {
  return Content(Computed{std::make_shared<const Unpacked>(
                     std::move(packed), type.bits, type.dtype[0] == 'i')},
                 count);
}

}  // namespace ctxfs::onnx
