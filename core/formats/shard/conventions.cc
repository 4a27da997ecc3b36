// SPDX-License-Identifier: Apache-2.0
//
// This project's conventions in a Shard's metadata
// (docs/formats/conventions.md):
//
//   entry_metadata[NAME].extra.ctxfs.encryption
//   entry_metadata[NAME].extra.ctxfs.delta
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/content/check_at.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::shard {
namespace {

/// Collects ctxfs's conventions from the metadata: for each NAME an object with
/// "encryption" and "delta", which are objects of scalars. Where such an object
/// should be, also stores a scalar, or an empty array for an array, so that
/// ReadConventions can report it.
class Conventions final : public JsonVisitor {
 public:
  using ByName = std::unordered_map<std::string, Json>;

  explicit Conventions(ByName* kept) : kept_(*kept) {}

  bool Enter(const Path& path, bool is_array) override {
    if (!Replace(path) || !Count(path)) return false;
    const Json empty = is_array ? Json::array() : Json::object();
    if (path.size() == kAbove) kept_[path[1]] = empty;
    if (path.size() == kSchemeDepth) kept_[path[1]][path[kAbove]] = empty;
    return !is_array;
  }
  void Leave(const Path& /*path*/) override {}
  void Scalar(const Path& path, Json value) override {
    if (!Replace(path) || !Count(path)) return;
    if (path.size() == kAbove) {
      kept_[path[1]] = std::move(value);
    } else if (path.size() == kSchemeDepth) {
      kept_[path[1]][path[kAbove]] = std::move(value);
    } else if (path.size() > kSchemeDepth) {
      kept_[path[1]][path[kAbove]][path.back()] = std::move(value);
    }
  }

  bool too_many() const { return count_ > limits::kConventionValues; }

 private:
  static constexpr size_t kAbove = 4;  // keys above "encryption" and "delta"
  static constexpr size_t kSchemeDepth = kAbove + 1;

  /// Returns whether `path` leads to the conventions or is within them.
  /// Discards earlier values at the path, because the last of equal keys
  /// counts.
  bool Replace(const Path& path) {
    constexpr std::string_view kTrunk[] = {"entry_metadata", "", "extra",
                                           "ctxfs"};
    if (path.size() > kSchemeDepth + 1) return false;
    for (size_t i = 0; i < std::min(path.size(), std::size(kTrunk)); ++i) {
      if (i != 1 && path[i] != kTrunk[i]) return false;
    }
    if (path.size() == 1) kept_.clear();
    if (path.size() > 1 && path.size() <= kAbove) kept_.erase(path[1]);
    return path.size() <= kAbove || path[kAbove] == "encryption" ||
           path[kAbove] == "delta";
  }

  bool Count(const Path& path) {
    if (path.size() >= kAbove && !too_many()) ++count_;
    return !too_many();
  }

  ByName& kept_;
  uint64_t count_ = 0;
};

/// Whether the metadata may have conventions. Most metadata has none and is
/// large; this test saves parsing it. "\u" may be part of an escaped "ctxfs".
bool MayHaveConventions(std::string_view text) {
  return text.find("\"ctxfs\"") != std::string_view::npos ||
         text.find("\\u") != std::string_view::npos;
}

}  // namespace

Status ShardContainer::ReadConventions(const ReadContext& context) {
  const uint64_t start = header_.schema_offset;
  if (start == 0 || start >= source()->size()) return {};
  // A failed read refuses the container: without conventions, ciphertext would
  // be served for encrypted entries.
  const Buffer text = CTXFS_TRY(ReadBuffer(
      *source(), start, std::min(source()->size() - start, limits::kJsonBytes),
      "metadata", context));
  if (!MayHaveConventions(AsText(text.span()))) return {};
  Conventions visitor(&conventions_);
  if (!WalkJson(AsText(text.span()), JsonDialect::kStandard, visitor,
                context)) {
    conventions_.clear();  // Info and Inspect report the fault
  }
  if (visitor.too_many()) {
    return Error{Code::kLimit,
                 fmt::format("metadata: conventions of more than {} values",
                             limits::kConventionValues),
                 start};
  }
  for (uint32_t entry = 0; entry < entry_count(); ++entry) {
    CTXFS_TRY(CheckAt(context, entry));
    const Json* object = ConventionsOf(entry);
    if (object == nullptr) continue;
    for (const char* key : {"encryption", "delta"}) {
      const bool there = object->contains(key);
      if (object->is_object() && !there) continue;
      if (there && object->at(key).is_object()) continue;
      Warn({Label(entry) + ": " + (there ? key : "ctxfs") + ": no object",
            start});
      break;
    }
    const Json* encryption = MemberAt(*object, "encryption");
    if (encryption == nullptr || !encryption->is_object()) continue;
    if (!EntryFault(entry)) AddSeal(entry, *encryption);
  }
  return {};
}

const Json* ShardContainer::ConventionsOf(uint32_t entry) const {
  if (conventions_.empty()) return nullptr;
  const std::optional<std::string_view> name = EntryName(entry);
  if (!name) return nullptr;
  const auto found = conventions_.find(std::string(*name));
  return found == conventions_.end() ? nullptr : &found->second;
}

}  // namespace ctxfs::shard
