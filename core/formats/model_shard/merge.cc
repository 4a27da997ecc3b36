// SPDX-License-Identifier: Apache-2.0
//
// Computes views/merged/NAME for the window that is read
// (docs/formats/conventions.md, section 2). All arithmetic is float32.
#include <algorithm>
#include <span>
#include <utility>

#include "core/codec/numbers/float_window.h"
#include "core/codec/numbers/widen.h"
#include "core/content/sha256_of.h"
#include "core/formats/model_shard/delta.h"

namespace ctxfs::model_shard {
namespace {

/// Reads the elements [first, first + to.size()) of a tensor as floats.
Status ReadFloats(const Content& content, DType dtype, uint64_t first,
                  std::span<float> to, const ReadContext& context) {
  Buffer bytes(to.size() * DTypeSize(dtype));
  Status read =
      ReadInto(content, first * DTypeSize(dtype), bytes.span(), context);
  if (read) WidenToFloat(dtype, bytes.span(), to);
  return read;
}

struct Tensors {
  Content base;     // merged if the base is a delta
  Content payload;  // the base's entry with header, for base_hash
  Content own;
  Content other;
};

/// The verdict of Merge's checks, with the container that keeps it alive.
struct Checked {
  std::shared_ptr<const Container> owner;
  AtomicVerdict& verdict;
  Key key;
  uint64_t offset;  // of the delta in the container, for errors
};

class Merge final : public Transform {
 public:
  Merge(Checked checked, Deltas::Resolved delta, Tensors tensors)
      : checked_(std::move(checked)),
        delta_(std::move(delta)),
        tensors_(std::move(tensors)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    CTXFS_TRY(Check(context));
    std::vector<float> a;
    if (delta_.kind == Deltas::Resolved::Kind::kLora) {
      a.resize(static_cast<size_t>(delta_.rank * delta_.columns));
      CTXFS_TRY(ReadFloats(tensors_.other, delta_.other_type, 0, a, context));
    }
    return FillFloats(
        offset, out, [&](uint64_t first, std::span<float> to) -> Status {
          CTXFS_TRY(
              ReadFloats(tensors_.base, delta_.base_type, first, to, context));
          switch (delta_.kind) {
            case Deltas::Resolved::Kind::kLora:
              return AddLora(a, first, to, context);
            case Deltas::Resolved::Kind::kScale:
              return Scale(first, to, context);
            case Deltas::Resolved::Kind::kSparse:
              break;
          }
          return Replace(first, to, context);
        });
  }

  Status Verify(const ReadContext& context) const override {
    for (const Content* content :
         {&tensors_.base, &tensors_.own, &tensors_.other}) {
      CTXFS_TRY(content->Verify(context));
    }
    return Check(context);
  }

 private:
  /// Checks the hash of the base, and that indices ascend. Each of these checks
  /// reads a whole tensor, so the result is remembered for the mount.
  Status Check(const ReadContext& context) const {
    AtomicVerdict& verdict = checked_.verdict;
    const auto settled = [&] {
      return verdict.load(std::memory_order_acquire) != Verdict::kUnknown;
    };
    if (!settled()) {
      Status scanned = context.cache().Once(
          checked_.key, context, settled, [&](const ReadContext& shared) {
            Status good = CheckHash(shared);
            if (good) good = CheckIndices(shared);
            if (good || good.error().Permanent()) {
              verdict.store(good ? Verdict::kPassed : Verdict::kFailed,
                            std::memory_order_release);
            }
            return good;
          });
      if (!scanned) return scanned;
    }
    if (verdict.load(std::memory_order_acquire) == Verdict::kFailed) {
      return Error{Code::kChecksum,
                   "the base does not have base_hash, or the indices are not "
                   "ascending positions in it",
                   checked_.offset};
    }
    return {};
  }

  Status CheckHash(const ReadContext& context) const {
    if (delta_.base_hash.empty()) return {};
    const std::string hash = CTXFS_TRY(Sha256Of(tensors_.payload, context));
    if (hash == delta_.base_hash) return {};
    return Error{Code::kChecksum, "the base's SHA-256 is " + hash};
  }

  Status CheckIndices(const ReadContext& context) const {
    if (delta_.kind != Deltas::Resolved::Kind::kSparse) return {};
    uint64_t least = 0;  // minimum of the next index
    for (uint64_t at = 0; at < delta_.own_count; at += kFloatsAtATime) {
      const uint64_t n = std::min(kFloatsAtATime, delta_.own_count - at);
      const std::vector<uint64_t> indices = CTXFS_TRY(Indices(at, n, context));
      for (const uint64_t index : indices) {
        if (index < least || index >= delta_.elements) {
          return Error{Code::kCorrupt, "an index out of order or range"};
        }
        least = index + 1;
      }
    }
    return {};
  }

  /// Reads indices as unsigned numbers, so that negative ones are out of range.
  Result<std::vector<uint64_t>> Indices(uint64_t first, uint64_t count,
                                        const ReadContext& context) const {
    Buffer bytes(static_cast<size_t>(count * sizeof(uint64_t)));
    CTXFS_TRY(ReadInto(tensors_.other, first * sizeof(uint64_t), bytes.span(),
                       context));
    std::vector<uint64_t> indices;
    ByteReader in(bytes.span());
    while (in.remaining() > 0) indices.push_back(in.U64());
    return indices;
  }

  /// Adds the LoRA to `to`, the base's elements from `first` on.
  Status AddLora(const std::vector<float>& a, uint64_t first,
                 std::span<float> to, const ReadContext& context) const {
    std::vector<float> b(static_cast<size_t>(delta_.rank));
    std::vector<float> sums;
    for (size_t done = 0; done < to.size();) {
      const uint64_t row = (first + done) / delta_.columns;
      const uint64_t column = (first + done) % delta_.columns;
      const size_t n = static_cast<size_t>(
          std::min<uint64_t>(to.size() - done, delta_.columns - column));
      CTXFS_TRY(ReadFloats(tensors_.own, delta_.own_type, row * delta_.rank, b,
                           context));
      sums.assign(n, 0);
      for (size_t k = 0; k < b.size(); ++k) {
        const float* of_a =
            a.data() + k * static_cast<size_t>(delta_.columns) + column;
        for (size_t j = 0; j < n; ++j) sums[j] += b[k] * of_a[j];
      }
      for (size_t j = 0; j < n; ++j) to[done + j] += delta_.factor * sums[j];
      done += n;
    }
    return {};
  }

  Status Scale(uint64_t first, std::span<float> to,
               const ReadContext& context) const {
    const auto row_of = [this](uint64_t element) {
      return delta_.per_row ? element / delta_.columns : 0;
    };
    const uint64_t row = row_of(first);
    std::vector<float> scales(
        static_cast<size_t>(row_of(first + to.size() - 1) - row + 1));
    CTXFS_TRY(ReadFloats(tensors_.own, delta_.own_type, row, scales, context));
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] *= scales[static_cast<size_t>(row_of(first + i) - row)];
    }
    return {};
  }

  Status Replace(uint64_t first, std::span<float> to,
                 const ReadContext& context) const {
    // Bisects for the first index in or after the window.
    uint64_t low = 0;
    for (uint64_t high = delta_.own_count; low < high;) {
      const uint64_t middle = low + (high - low) / 2;
      const std::vector<uint64_t> at = CTXFS_TRY(Indices(middle, 1, context));
      if (at.front() < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    // Indices ascend, so there is at most one for each element of the window.
    const uint64_t most = std::min<uint64_t>(to.size(), delta_.own_count - low);
    const std::vector<uint64_t> indices =
        CTXFS_TRY(Indices(low, most, context));
    std::vector<float> values(static_cast<size_t>(most));
    CTXFS_TRY(ReadFloats(tensors_.own, delta_.own_type, low, values, context));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t at = indices[i] - first;
      if (at >= to.size()) break;
      to[static_cast<size_t>(at)] = values[i];
    }
    return {};
  }

  Checked checked_;
  Deltas::Resolved delta_;
  Tensors tensors_;
};

}  // namespace

Result<Content> Deltas::OpenMerged(const Resolved& delta,
                                   const ReadContext& context) const {
  const TensorShard& base = delta.outside != nullptr ? *delta.outside : *shard_;
  Tensors tensors;
  tensors.base = CTXFS_TRY(delta.below != nullptr
                               ? OpenMerged(*delta.below, context)
                               : base.OpenTensor(delta.base_entry, context));
  tensors.payload = CTXFS_TRY(base.OpenEntry(delta.base_entry, context));
  tensors.own = CTXFS_TRY(shard_->OpenTensor(delta.entry, context));
  if (delta.kind != Resolved::Kind::kScale) {
    tensors.other = CTXFS_TRY(shard_->OpenTensor(delta.other, context));
  }
  Checked checked{shard_->shared_from_this(), verdicts_.at(delta.entry),
                  Key{owner_, delta.entry},
                  shard_->Record(delta.entry).data_offset};
  return Content(Computed{std::make_shared<const Merge>(
                     std::move(checked), delta, std::move(tensors))},
                 delta.size());
}

}  // namespace ctxfs::model_shard
