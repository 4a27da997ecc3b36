// SPDX-License-Identifier: Apache-2.0
//
// Decodes arrays of cowrie values whose elements have variable lengths.
#include "core/formats/cowrie/numbers.h"

#include <utility>
#include <vector>

#include "core/content/bit_bytes.h"
#include "core/content/block.h"
#include "core/formats/cowrie/reader.h"

namespace ctxfs::cowrie {
namespace {

constexpr uint64_t kWord = sizeof(int64_t);

/// The numbers of an array, or of arrays with equal offsets, decoded as i64.
class NumbersBlock final : public Block {
 public:
  NumbersBlock(Key key, std::shared_ptr<const Source> data,
               const CowrieArray& array)
      : Block(key),
        data_(std::move(data)),
        coding_(array.coding),
        offset_(array.offset),
        length_(array.length) {}

  uint64_t cost() const override { return (1 + 3 * kWord) * length_ + kWord; }
  const Source* made_from() const override { return data_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    const Buffer coded =
        CTXFS_TRY(ReadBuffer(*data_, offset_, length_, "array", context));
    CowrieReader in(coded.span(), offset_, context.interrupt());
    std::vector<int64_t> numbers;
    // A number takes at least a byte.
    numbers.reserve(static_cast<size_t>(length_));
    if (coding_ == CowrieCoding::kAdjacency) {
      ReadLists(in, numbers);
    } else {
      while (in.ok() && in.remaining() > 0) {
        numbers.push_back(coding_ == CowrieCoding::kZigzag
                              ? in.Zigzag()
                              : static_cast<int64_t>(in.Uvarint()));
      }
    }
    if (!in.ok()) return in.TheError();
    Buffer bytes(numbers.size() * kWord);
    for (size_t i = 0; i < numbers.size() && in.Worked(1); ++i) {
      StoreLe(static_cast<uint64_t>(numbers[i]), bytes.data() + i * kWord);
    }
    if (!in.ok()) return in.TheError();
    return bytes;
  }

 private:
  static void ReadLists(CowrieReader& in, std::vector<int64_t>& numbers) {
    std::vector<int64_t> ends = {0};
    std::vector<int64_t> neighbors;
    while (in.ok() && in.remaining() > 0) {
      numbers.push_back(in.Zigzag());
      for (uint64_t n = in.Count(1); n > 0 && in.ok(); --n) {
        neighbors.push_back(in.Zigzag());
      }
      ends.push_back(static_cast<int64_t>(neighbors.size()));
    }
    numbers.insert(numbers.end(), ends.begin(), ends.end());
    numbers.insert(numbers.end(), neighbors.begin(), neighbors.end());
  }

  std::shared_ptr<const Source> data_;
  CowrieCoding coding_;
  uint64_t offset_;
  uint64_t length_;
};

}  // namespace

uint64_t CowrieArraySize(const CowrieArray& array) {
  uint64_t size = DTypeSize(array.dtype);
  for (const uint64_t dimension : array.shape) size *= dimension;
  return size;
}

Content CowrieElements(const CowrieArray& array,
                       std::shared_ptr<const Source> data, Key key) {
  const uint64_t size = CowrieArraySize(array);
  switch (array.coding) {
    case CowrieCoding::kPlain:
      return {Range{std::move(data), array.offset, nullptr}, size};
    case CowrieCoding::kBits:
      return {Computed{std::make_shared<const BitBytes>(std::move(data),
                                                        array.offset)},
              size};
    case CowrieCoding::kText:
      return {Literal{array.made}, size};
    default:
      return {Decoded{std::make_shared<const NumbersBlock>(key, std::move(data),
                                                           array),
                      array.first * kWord},
              size};
  }
}

}  // namespace ctxfs::cowrie
