// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/elements.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/codec/numbers/float_window.h"
#include "core/codec/numbers/widen.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

class Widening final : public Transform {
 public:
  Widening(DType from, Content elements)
      : from_(from), elements_(std::move(elements)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const uint64_t width = DTypeSize(from_);
    Buffer narrow(static_cast<size_t>(
        width *
        std::min<uint64_t>(kFloatsAtATime, out.size() / sizeof(float) + 2)));
    return FillFloats(
        offset, out, [&](uint64_t first, std::span<float> floats) -> Status {
          const MutableBytes bytes =
              narrow.span().first(floats.size() * static_cast<size_t>(width));
          Status read = ReadInto(elements_, first * width, bytes, context);
          if (read) WidenToFloat(from_, bytes, floats);
          return read;
        });
  }
  Status Verify(const ReadContext& context) const override {
    return elements_.Verify(context);
  }
  bool HasUnreadable(uint64_t& budget,
                     const ReadContext& context) const override {
    return elements_.HasUnreadable(budget, context);
  }

 private:
  DType from_;
  Content elements_;
};

/// Elements that are opened at their first read. A failure is not cached,
/// because it may be a transient I/O error.
class LateElements final : public Transform {
 public:
  explicit LateElements(ArrayInfo array) : array_(std::move(array)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    const Content content = CTXFS_TRY(Open(context));
    return ReadInto(content, offset, out, context);
  }
  Status Verify(const ReadContext& context) const override {
    const Content content = CTXFS_TRY(Open(context));
    return content.Verify(context);
  }

 private:
  Result<Content> Open(const ReadContext& context) const {
    {
      const MutexLock lock(mutex_);
      if (opened_ != nullptr) return *opened_;
    }
    Content content = CTXFS_TRY(OpenElements(array_, context));
    auto kept = std::make_shared<const Content>(content);
    const MutexLock lock(mutex_);
    if (opened_ == nullptr) opened_ = std::move(kept);
    return content;
  }

  ArrayInfo array_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Content> opened_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace

uint64_t BytesOf(const ArrayInfo& array) { return BytesOf(array, array.dtype); }

uint64_t BytesOf(const ArrayInfo& array, DType as) {
  const uint64_t count = CountOf(array);
  if (!IsPacked(as)) return count * DTypeSize(as);
  return (count * DTypeBits(as) + 7) / 8;
}

Result<Content> OpenElements(const ArrayInfo& array,
                             const ReadContext& context) {
  Result<Content> content = array.open(context);
  if (content && content->size() != BytesOf(array)) {
    return Error{Code::kCorrupt,
                 fmt::format("array of {} bytes: its shape requires {}",
                             content->size(), BytesOf(array))};
  }
  return content;
}

Content WidenElements(DType from, const Content& elements) {
  const uint64_t count = elements.size() / DTypeSize(from);
  return {Computed{std::make_shared<const Widening>(from, elements), 0},
          count * sizeof(float)};
}

Content ElementsAmongOthers(const ArrayInfo& array,
                            const ReadContext& context) {
  if (!array.opening_reads) {
    Result<Content> content = OpenElements(array, context);
    if (content) return *std::move(content);
  }
  return {Computed{std::make_shared<const LateElements>(array), 0},
          BytesOf(array)};
}

}  // namespace ctxfs
