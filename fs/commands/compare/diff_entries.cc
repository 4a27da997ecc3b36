// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_entries.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/content/sha256_of.h"
#include "core/report/sections/array_statistics.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"
#include "fs/commands/compare/json_difference.h"

namespace ctxfs {
namespace {

constexpr uint64_t kWindow = limits::kMiB;
constexpr uint64_t kMaxJson = 4 * limits::kMiB;

/// Returns "crc32c" for "crc32c:9a71bb4c".
std::string_view ChecksumKindOf(const DiffEntry& entry) {
  return std::string_view(entry.checksum).substr(0, entry.checksum.find(':'));
}

/// Whether stored checksums show that the bytes of two entries are equal;
/// nullopt if they do not decide.
std::optional<bool> EqualByChecksum(const DiffEntry& a, const DiffEntry& b,
                                    bool by_elements) {
  if (a.checksum.empty() || ChecksumKindOf(a) != ChecksumKindOf(b) ||
      a.codec != b.codec) {
    return std::nullopt;
  }
  if (a.checksum == b.checksum) {
    if (a.size == b.size && a.stored_size == b.stored_size) return true;
    return std::nullopt;
  }
  // Different checksums prove a difference only of bytes that are stored
  // plainly and are no array header. Equal bytes may be compressed differently,
  // and equal arrays may have different headers.
  const bool elements_alone = !by_elements || a.size == BytesOf(*a.array);
  if (a.plain() && b.plain() && a.size == b.size && elements_alone) {
    return false;
  }
  return std::nullopt;
}

/// The bytes to compare: the stored elements of an array, in the order common
/// to all formats, or the file.
Result<Content> ComparedBytes(const DiffSide& side, const DiffEntry& entry,
                              bool by_elements) {
  if (!by_elements) return side.OpenFile(entry);
  return OpenElements(*entry.array, side.context());
}

/// Compares two contents in windows; returns the first differing byte.
Result<std::optional<uint64_t>> FirstDifference(const Content& a,
                                                const ReadContext& a_context,
                                                const Content& b,
                                                const ReadContext& b_context) {
  const uint64_t common = std::min(a.size(), b.size());
  std::vector<std::byte> left(std::min(common, kWindow));
  std::vector<std::byte> right(left.size());
  for (uint64_t at = 0; at < common; at += left.size()) {
    const auto length =
        static_cast<size_t>(std::min<uint64_t>(left.size(), common - at));
    CTXFS_TRY(a_context.Check());
    CTXFS_TRY(ReadInto(a, at, MutableBytes(left.data(), length), a_context));
    CTXFS_TRY(ReadInto(b, at, MutableBytes(right.data(), length), b_context));
    if (std::memcmp(left.data(), right.data(), length) == 0) continue;
    const auto [differs, other] = std::mismatch(
        left.begin(), left.begin() + static_cast<long>(length), right.begin());
    return std::optional(at + static_cast<uint64_t>(differs - left.begin()));
  }
  // An empty file may still be damaged.
  if (common == 0) {
    CTXFS_TRY(a.Verify(a_context));
    CTXFS_TRY(b.Verify(b_context));
  }
  if (a.size() != b.size()) return std::optional(common);
  return std::optional<uint64_t>();
}

/// Compares the entries of two sides.
class Comparison {
 public:
  Comparison(const DiffSide& first, const DiffSide& second,
             const DiffOptions& options, Progress& progress)
      : first_(first),
        second_(second),
        options_(options),
        progress_(progress) {}

  std::vector<EntryDifference> Run() {
    PairNames();
    ForEach([this](EntryDifference& one) { Compare(one); });
    PairBytes();
    return std::move(all_);
  }

 private:
  template <typename Act>
  void ForEach(const Act& act) {
    ForEachInParallel(all_.size(), options_.jobs,
                      [&](uint64_t i) { act(all_[i]); });
  }

  /// Pairs entries of the same name, and lists the others.
  void PairNames() {
    auto a = first_.entries().begin();
    auto b = second_.entries().begin();
    const auto a_end = first_.entries().end();
    const auto b_end = second_.entries().end();
    while (a != a_end || b != b_end) {
      EntryDifference one;
      const int order = a == a_end   ? 1
                        : b == b_end ? -1
                                     : a->first.compare(b->first);
      if (order <= 0) one.first = &(a++)->second;
      if (order >= 0) one.second = &(b++)->second;
      if (order < 0) one.kind = DiffKind::kRemoved;
      if (order > 0) one.kind = DiffKind::kAdded;
      if (order == 0) progress_.Expect(one.first->size + one.second->size);
      all_.push_back(std::move(one));
    }
  }

  void Compare(EntryDifference& one) const {
    if (one.first == nullptr || one.second == nullptr) return;
    const Status compared = ComparePair(one);
    if (!compared) {
      one.kind = DiffKind::kFailed;
      one.error = compared.error();
    }
    progress_.Add(one.first->size + one.second->size);
  }

  Status ComparePair(EntryDifference& one) const {
    const DiffEntry& a = *one.first;
    const DiffEntry& b = *one.second;
    if (a.error) return *a.error;
    if (b.error) return *b.error;
    // Files of a plain directory have no known type.
    const bool typed = a.is_array() && b.is_array();
    one.type_changed = a.file.link != b.file.link ||
                       (typed && (a.dtype != b.dtype || a.shape != b.shape));
    if (one.type_changed) {
      one.kind = DiffKind::kChanged;
      return AddValues(one);
    }
    const bool equal = CTXFS_TRY(HasSameBytes(one));
    if (equal) return {};
    one.kind = DiffKind::kChanged;
    AddKeys(one);
    return AddValues(one);
  }

  Result<bool> HasSameBytes(EntryDifference& one) const {
    const DiffEntry& a = *one.first;
    const DiffEntry& b = *one.second;
    if (a.file.link) {
      const std::string left = CTXFS_TRY(first_.ReadLink(a));
      const std::string right = CTXFS_TRY(second_.ReadLink(b));
      return left == right;
    }
    const bool by_elements = a.has_stored_elements() && b.has_stored_elements();
    if (a.converted || b.converted) {
      if (!by_elements) return CannotConvert();
    } else if (const std::optional<bool> told =
                   EqualByChecksum(a, b, by_elements)) {
      return *told;
    }
    const Content left = CTXFS_TRY(ComparedBytes(first_, a, by_elements));
    const Content right = CTXFS_TRY(ComparedBytes(second_, b, by_elements));
    one.offset = CTXFS_TRY(
        FirstDifference(left, first_.context(), right, second_.context()));
    return !one.offset;
  }

  static Error CannotConvert() {
    return {Code::kUnsupported,
            "its shape or type is not one that the converter changes"};
  }

  /// Finds the differences between two JSON texts.
  void AddKeys(EntryDifference& one) const {
    const DiffEntry& a = *one.first;
    const DiffEntry& b = *one.second;
    if (a.is_array() || a.file.link) return;
    const Result<std::string> left = TextOf(first_, a);
    const Result<std::string> right = TextOf(second_, b);
    if (left && right) one.keys = JsonDifference(*left, *right);
  }

  static Result<std::string> TextOf(const DiffSide& side,
                                    const DiffEntry& entry) {
    if (entry.size > kMaxJson) return Error{Code::kLimit, "it is too long"};
    const Content content = CTXFS_TRY(side.OpenFile(entry));
    return ReadAll(content, side.context());
  }

  Status AddValues(EntryDifference& one) const {
    const DiffEntry& a = *one.first;
    const DiffEntry& b = *one.second;
    if (!options_.values || (!a.is_array() && !b.is_array())) return {};
    one.no_values = WhyNoValues(a, b);
    if (one.no_values) return {};
    one.values = CTXFS_TRY(
        DifferenceOf(*a.array, *b.array, first_.context(), second_.context()));
    return {};
  }

  static std::optional<std::string> WhyNoValues(const DiffEntry& a,
                                                const DiffEntry& b) {
    if (a.shape != b.shape) return "the shapes differ";
    for (const DiffEntry* const one : {&a, &b}) {
      if (one->array == nullptr && one->converted) return CannotConvert().what;
      if (one->array == nullptr) {
        return "values of " + (one->dtype.empty() ? "bytes" : one->dtype) +
               " are not decoded";
      }
      if (!HasStatistics(one->array->dtype)) {
        return "values of " + std::string(DTypeName(one->array->dtype)) +
               " are not compared";
      }
    }
    return std::nullopt;
  }

  /// Size, dtype and shape, which entries of the same bytes share.
  using Likeness = std::tuple<uint64_t, std::string, std::vector<uint64_t>>;
  static Likeness LikenessOf(const DiffEntry& entry) {
    const bool by_elements = entry.has_stored_elements();
    return {by_elements ? BytesOf(*entry.array) : entry.size, entry.dtype,
            entry.shape};
  }

  /// Finds removed entries that were added under another name.
  void PairBytes() {
    std::map<Likeness, std::vector<size_t>> removed;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind == DiffKind::kRemoved && MayBeRenamed(*all_[i].first)) {
        removed[LikenessOf(*all_[i].first)].push_back(i);
      }
    }
    // Reads only entries that have a counterpart of the same likeness.
    std::vector<size_t> read;
    std::set<size_t> olds;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind != DiffKind::kAdded || !MayBeRenamed(*all_[i].second)) {
        continue;
      }
      const auto like = removed.find(LikenessOf(*all_[i].second));
      if (like == removed.end()) continue;
      read.push_back(i);
      olds.insert(like->second.begin(), like->second.end());
    }
    read.insert(read.end(), olds.begin(), olds.end());
    std::vector<std::string> digests(read.size());
    ForEachInParallel(read.size(), options_.jobs, [&](uint64_t i) {
      digests[i] = DigestOf(all_[read[i]]);
    });
    std::multimap<std::string, size_t> by_digest;
    for (size_t i = 0; i < read.size(); ++i) {
      if (all_[read[i]].kind == DiffKind::kRemoved && !digests[i].empty()) {
        by_digest.emplace(digests[i], read[i]);
      }
    }
    for (size_t i = 0; i < read.size(); ++i) {
      if (all_[read[i]].kind != DiffKind::kAdded) continue;
      const auto old = by_digest.find(digests[i]);
      if (old == by_digest.end()) continue;
      all_[old->second].kind = DiffKind::kRenamed;
      all_[old->second].second = all_[read[i]].second;
      all_[read[i]].second = nullptr;  // erased below
      by_digest.erase(old);
    }
    std::erase_if(all_, [](const EntryDifference& one) {
      return one.first == nullptr && one.second == nullptr;
    });
  }

  static bool MayBeRenamed(const DiffEntry& entry) {
    return !entry.error && !entry.file.link && entry.size > 0;
  }

  /// SHA-256 of an entry's bytes, with its dtype and shape; empty if it cannot
  /// be read.
  std::string DigestOf(const EntryDifference& one) const {
    const DiffSide& side = one.first != nullptr ? first_ : second_;
    const DiffEntry& entry = one.any();
    const Result<Content> content =
        ComparedBytes(side, entry, entry.has_stored_elements());
    if (!content) return {};
    const Result<std::string> digest = Sha256Of(*content, side.context());
    if (!digest) return {};
    std::string text = *digest + entry.dtype;
    for (const uint64_t size : entry.shape) text += "," + std::to_string(size);
    return text;
  }

  const DiffSide& first_;
  const DiffSide& second_;
  const DiffOptions options_;
  Progress& progress_;
  std::vector<EntryDifference> all_;
};

}  // namespace

const char* DiffKindName(DiffKind kind) {
  constexpr const char* kNames[kDiffKinds] = {"same",    "changed", "renamed",
                                              "removed", "added",   "failed"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<EntryDifference> DiffEntries(const DiffSide& first,
                                         const DiffSide& second,
                                         const DiffOptions& options,
                                         Progress& progress) {
  return Comparison(first, second, options, progress).Run();
}

}  // namespace ctxfs
