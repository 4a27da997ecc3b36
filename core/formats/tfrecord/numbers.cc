// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/numbers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/content/check_at.h"
#include "core/io/source.h"

namespace ctxfs::tfrecord {
namespace {

/// Numbers [kPerMark * number, ...) of a list.
class NumberBlock final : public Block {
 public:
  NumberBlock(Key key, std::shared_ptr<const Numbers> numbers,
              NumberSource source, size_t number)
      : Block(key),
        numbers_(std::move(numbers)),
        source_(std::move(source)),
        number_(number) {}

  uint64_t cost() const override { return Stored().size() + size(); }
  const Source* made_from() const override { return source_.source.get(); }
  bool verifies() const override { return source_.guard != nullptr; }

  uint64_t size() const {
    const uint64_t first = number_ * Numbers::kPerMark;
    return numbers_->width() *
           std::min(numbers_->count - first, Numbers::kPerMark);
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (source_.guard != nullptr) CTXFS_TRY(source_.guard->Verify(context));
    const Span stored = Stored();
    const Buffer bytes = CTXFS_TRY(ReadBuffer(
        *source_.source, stored.begin, stored.size(), "a list", context));
    NumberReader in(*numbers_, {bytes.span(), stored.begin},
                    numbers_->marks[number_]);
    Buffer out(static_cast<size_t>(size()));
    for (size_t at = 0; at < out.size(); at += numbers_->width()) {
      uint64_t bits = 0;
      if (!in.Next(bits)) {
        return Error{Code::kCorrupt, "a list has changed", in.mark().at};
      }
      StoreLe(bits, out.span().subspan(at, numbers_->width()));
    }
    return out;
  }

 private:
  static void StoreLe(uint64_t bits, MutableBytes out) {
    for (std::byte& byte : out) {
      byte = static_cast<std::byte>(bits);
      bits >>= 8;
    }
  }

  /// The bytes that the numbers are in.
  Span Stored() const {
    const bool last = number_ + 1 == numbers_->marks.size();
    return {numbers_->marks[number_].at, last
                                             ? numbers_->lists.back().end
                                             : numbers_->marks[number_ + 1].at};
  }

  const std::shared_ptr<const Numbers> numbers_;
  const NumberSource source_;
  const size_t number_;
};

}  // namespace

Status Numbers::Add(const Feature& feature, const RecordBytes& record) {
  Status added;
  count += feature.count;
  feature.ForEachList([&](Bytes list) {
    if (added) added = AdmitGrowth(lists);
    if (added) lists.push_back(record.SpanOf(list));
  });
  return added;
}

Status Numbers::FindMarks(const RecordBytes& record,
                          const ReadContext& context) {
  NumberReader in(*this, record);
  uint64_t bits = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % kPerMark == 0) {
      CTXFS_TRY(context.Check());
      CTXFS_TRY(AdmitGrowth(marks));
      marks.push_back(in.mark());
    }
    if (!in.Next(bits)) return Error{Code::kCorrupt, "a list has changed"};
    if (i == 0) packed = in.PackedBefore();
  }
  return {};
}

NumberReader::NumberReader(const Numbers& numbers, const RecordBytes& window)
    : numbers_(numbers), window_(window) {
  if (!numbers.lists.empty()) mark_.at = numbers.lists.front().begin;
}

std::optional<Span> NumberReader::PackedBefore() const {
  const Span all = {mark_.at - numbers_.width(), mark_.packed_end};
  const bool whole = numbers_.kind == ValueKind::kFloats &&
                     mark_.packed_end > all.begin &&
                     all.size() == numbers_.count * numbers_.width();
  return whole ? std::optional(all) : std::nullopt;
}

Bytes NumberReader::Left(uint64_t end) const {
  const uint64_t begin = mark_.at - window_.at;
  const uint64_t last =
      std::min<uint64_t>(end - window_.at, window_.bytes.size());
  if (begin > last) return {};
  return window_.bytes.subspan(static_cast<size_t>(begin),
                               static_cast<size_t>(last - begin));
}

bool NumberReader::NextPacked(uint64_t& bits) {
  const Bytes left = Left(mark_.packed_end);
  if (numbers_.kind == ValueKind::kFloats) {
    if (left.size() < 4) return false;
    bits = LoadLe<uint32_t>(left.data());
    mark_.at += 4;
    return true;
  }
  WireReader in(left);
  bits = in.Varint();
  mark_.at += left.size() - in.left().size();
  return in.ok();
}

bool NumberReader::EnterField(uint64_t& bits, bool& found) {
  const Bytes left = Left(numbers_.lists[mark_.list].end);
  WireReader in(left);
  WireReader::Field field;
  if (!in.ReadTag(field)) return false;
  const bool packed = field.IsBytes(1);
  if (packed) {
    const uint64_t length = in.Varint();
    mark_.at += left.size() - in.left().size();
    mark_.packed_end = mark_.at + length;
    return in.ok();
  }
  in.ReadValue(field);
  mark_.at += left.size() - in.left().size();
  const unsigned single = numbers_.kind == ValueKind::kInts ? 0 : 5;
  found = field.number == 1 && field.type == single;
  bits = field.value;
  return in.ok();
}

bool NumberReader::Next(uint64_t& bits) {
  while (mark_.list < numbers_.lists.size()) {
    if (mark_.packed_end != 0 && mark_.at < mark_.packed_end) {
      return NextPacked(bits);
    }
    mark_.packed_end = 0;
    if (mark_.at >= numbers_.lists[mark_.list].end) {
      if (++mark_.list == numbers_.lists.size()) return false;
      mark_.at = numbers_.lists[mark_.list].begin;
      continue;
    }
    bool found = false;
    if (!EnterField(bits, found)) return false;
    if (found) return true;
  }
  return false;
}

Content NumberContent(std::shared_ptr<const Numbers> numbers,
                      const NumberSource& source, uint64_t owner,
                      uint32_t file) {
  if (numbers->count == 0) return {};
  if (const std::optional<Span>& packed = numbers->packed) {
    return Content(Range{source.source, packed->begin, source.guard},
                   packed->size());
  }
  Content content;
  for (size_t i = 0; i < numbers->marks.size(); ++i) {
    // A file has fewer than 2^40 numbers, and a sample fewer than 2^24 files.
    const Key key{owner, uint64_t{file} << 40 | i};
    auto block = std::make_shared<const NumberBlock>(key, numbers, source, i);
    const uint64_t size = block->size();
    content.Append(Decoded{std::move(block), 0}, size);
  }
  return content;
}

}  // namespace ctxfs::tfrecord
