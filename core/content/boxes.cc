// SPDX-License-Identifier: Apache-2.0
#include "core/content/boxes.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/content/strided.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxRuns = 4096;  // extents of one array
constexpr size_t kWindow = 256 * limits::kKiB;

/// A list of numbers as boxes.
class BoxNumbers {
 public:
  BoxNumbers(std::span<const uint64_t> numbers, size_t rank)
      : numbers_(numbers), rank_(rank) {}

  size_t count() const { return numbers_.size() / (2 * rank_); }
  uint64_t From(size_t box, size_t dimension) const {
    return numbers_[2 * rank_ * box + dimension];
  }
  uint64_t To(size_t box, size_t dimension) const {
    return From(box, dimension) + numbers_[2 * rank_ * box + rank_ + dimension];
  }
  bool IsEmpty(size_t box) const {
    for (size_t i = 0; i < rank_; ++i) {
      if (From(box, i) == To(box, i)) return true;
    }
    return false;
  }
  bool Overlap(size_t a, size_t b) const {
    for (size_t i = 0; i < rank_; ++i) {
      if (To(a, i) <= From(b, i) || To(b, i) <= From(a, i)) return false;
    }
    return true;
  }
  /// The dimension with the most distinct offsets of boxes.
  size_t MostDivided() const {
    std::vector<uint64_t> starts(count());
    size_t best = 0;
    size_t most = 0;
    for (size_t i = 0; i < rank_; ++i) {
      for (size_t box = 0; box < count(); ++box) starts[box] = From(box, i);
      std::ranges::sort(starts);
      const auto different = static_cast<size_t>(
          std::unique(starts.begin(), starts.end()) - starts.begin());
      if (different > most) best = i;
      most = std::max(most, different);
    }
    return best;
  }

 private:
  const std::span<const uint64_t> numbers_;
  const size_t rank_;
};

/// The runs of a box's elements in the array, in the order of the box.
class Runs {
 public:
  Runs(const std::vector<uint64_t>& shape, const Box& box) {
    const std::vector<uint64_t> strides = RowMajorStrides(shape);
    size_t outer = shape.size();
    // A run spans the last dimensions, which the box covers fully, and the
    // box's part of the dimension before them.
    while (outer > 0 && box.sizes[outer - 1] == shape[outer - 1]) {
      length_ *= shape[--outer];
    }
    if (outer > 0) length_ *= box.sizes[--outer];
    for (size_t i = 0; i < shape.size(); ++i) {
      start_ += box.offsets[i] * strides[i];
    }
    for (size_t i = 0; i < outer; ++i) {
      count_ *= box.sizes[i];
      dimensions_.push_back({box.sizes[i], strides[i]});
    }
  }

  uint64_t count() const { return count_; }
  uint64_t length() const { return length_; }  // of each, in elements
  /// The first element of a run, which increases with `run`.
  uint64_t At(uint64_t run) const {
    uint64_t at = start_;
    for (size_t i = dimensions_.size(); i-- > 0;) {
      at += run % dimensions_[i].size * dimensions_[i].stride;
      run /= dimensions_[i].size;
    }
    return at;
  }
  /// The first run that ends after `element`; count() if there is none.
  uint64_t FirstAfter(uint64_t element) const {
    uint64_t low = 0;
    uint64_t high = count_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (At(middle) + length_ > element) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  struct Dimension {
    uint64_t size;
    uint64_t stride;
  };

  std::vector<Dimension> dimensions_;
  uint64_t start_ = 0;
  uint64_t length_ = 1;
  uint64_t count_ = 1;
};

struct Part {
  Runs runs;
  Content elements;
};

class Boxed final : public Transform {
 public:
  Boxed(uint32_t width, std::vector<Part> parts)
      : width_(width), parts_(std::move(parts)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    Buffer read(std::min(kWindow, out.size()));
    while (!out.empty()) {
      const MutableBytes window = out.first(std::min(kWindow, out.size()));
      for (const Part& part : parts_) {
        CTXFS_TRY(context.Check());
        CTXFS_TRY(Copy(part, offset, window, read.span(), context));
      }
      offset += window.size();
      out = out.subspan(window.size());
    }
    return {};
  }
  Status Verify(const ReadContext& context) const override {
    for (const Part& part : parts_) {
      CTXFS_TRY(part.elements.Verify(context));
    }
    return {};
  }
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    return std::ranges::any_of(parts_, [&](const Part& part) {
      return part.elements.HasUnreadable(budget, context);
    });
  }

 private:
  /// Copies the part of a box that is in a window. The runs of that part are
  /// adjacent in the stored box, so a single read suffices.
  Status Copy(const Part& part, uint64_t offset, MutableBytes window,
              MutableBytes read, const ReadContext& context) const {
    const Runs& runs = part.runs;
    const uint64_t length = runs.length() * width_;
    const uint64_t end = offset + window.size();
    const uint64_t first = runs.FirstAfter(offset / width_);
    uint64_t at = 0;  // within the stored box
    uint64_t size = 0;
    for (uint64_t run = first; run < runs.count(); ++run) {
      const auto [from, to] =
          Within(runs.At(run) * width_, length, offset, end);
      if (from >= to) break;
      if (run == first) {
        at = run * length + (from - runs.At(run) * width_);
      }
      size += to - from;
    }
    if (size == 0) return {};
    const MutableBytes bytes = read.first(static_cast<size_t>(size));
    CTXFS_TRY(ReadInto(part.elements, at, bytes, context));
    uint64_t done = 0;
    for (uint64_t run = first; done < size; ++run) {
      const auto [from, to] =
          Within(runs.At(run) * width_, length, offset, end);
      std::memcpy(window.data() + (from - offset), bytes.data() + done,
                  static_cast<size_t>(to - from));
      done += to - from;
    }
    return {};
  }

  /// The intersection of the window [offset, end) and a run at `start`.
  static std::pair<uint64_t, uint64_t> Within(uint64_t start, uint64_t length,
                                              uint64_t offset, uint64_t end) {
    return {std::max(start, offset), std::min(start + length, end)};
  }

  const uint32_t width_;
  const std::vector<Part> parts_;
};

struct Extended {
  uint64_t at;
  size_t part;
  uint64_t run;
};

Content AsExtents(uint32_t width, const std::vector<Part>& parts) {
  std::vector<Extended> all;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (uint64_t run = 0; run < parts[i].runs.count(); ++run) {
      all.push_back({parts[i].runs.At(run), i, run});
    }
  }
  std::ranges::sort(all, {}, &Extended::at);
  Content content;
  for (const Extended& one : all) {
    const Part& part = parts[one.part];
    const uint64_t length = part.runs.length() * width;
    content.Append(part.elements.Slice(one.run * length, length));
  }
  return content;
}

}  // namespace

Result<std::optional<std::pair<size_t, size_t>>> FindOverlap(
    std::span<const uint64_t> numbers, size_t rank, uint64_t& budget,
    const Interrupt& interrupt) {
  using Pair = std::pair<size_t, size_t>;
  constexpr uint64_t kPerCheck = 65'536;
  const Error too_many{Code::kLimit, "its parts are too many to be compared"};
  if (rank == 0) return std::optional<Pair>();
  if (budget < numbers.size()) return too_many;
  budget -= numbers.size();
  const BoxNumbers boxes(numbers, rank);
  const size_t by = boxes.MostDivided();
  std::vector<size_t> order(boxes.count());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t box) { return boxes.IsEmpty(box); });
  std::ranges::sort(order, {}, [&](size_t box) { return boxes.From(box, by); });
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = i + 1; j < order.size(); ++j) {
      if (boxes.From(order[j], by) >= boxes.To(order[i], by)) break;
      if (budget == 0) return too_many;
      if (--budget % kPerCheck == 0) {
        CTXFS_TRY(interrupt.Check());
      }
      if (boxes.Overlap(order[i], order[j])) {
        const auto [first, second] = std::minmax(order[i], order[j]);
        return std::optional(Pair(first, second));
      }
    }
  }
  return std::optional<Pair>();
}

Content BoxedContent(const std::vector<uint64_t>& shape, uint32_t width,
                     std::vector<Box> boxes) {
  std::vector<Part> parts;
  parts.reserve(boxes.size());
  uint64_t runs = 0;
  uint64_t size = 0;
  for (Box& box : boxes) {
    parts.push_back({Runs(shape, box), std::move(box.elements)});
    runs += std::min(parts.back().runs.count(), kMaxRuns + 1);
    size += parts.back().elements.size();
  }
  if (runs <= kMaxRuns) return AsExtents(width, parts);
  return {Computed{std::make_shared<const Boxed>(width, std::move(parts)), 0},
          size};
}

}  // namespace ctxfs
