// SPDX-License-Identifier: Apache-2.0
//
// Implements `views/`: a container without entries that is attached to another
// container.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/container/complete.h"
#include "core/container/documents.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxDimensions = 32;  // numpy's limit
// Keeps the size within int64 even for the widest elements (16 bytes).
constexpr uint64_t kMaxElements = INT64_MAX / 16;

/// Returns the number of elements; nullopt if readers refuse the shape.
std::optional<uint64_t> Count(const std::vector<uint64_t>& shape) {
  if (shape.size() > kMaxDimensions) return std::nullopt;
  uint64_t count = 1;
  // The product of all extents but 0. It must not overflow either, because a
  // reader may multiply the other extents before it reaches the 0.
  uint64_t all = 1;
  for (const uint64_t extent : shape) {
    const std::optional<uint64_t> product =
        CheckedMul(all, extent == 0 ? 1 : extent);
    if (!product || *product > kMaxElements) return std::nullopt;
    all = *product;
    count *= extent == 0 ? 0 : extent;
  }
  return count;
}

/// Returns those of `views` that a container with `exports` may have.
ViewSet Having(const Exports& exports, const ViewSet& views) {
  ViewSet having;
  std::ranges::copy_if(
      views, std::back_inserter(having),
      [&exports](const View* view) { return view->may_have(exports); });
  return having;
}

Result<Viewed> LookAt(std::shared_ptr<const Container> container,
                      const ReadContext& context) {
  Viewed viewed;
  viewed.exports = container->Export();
  if (viewed.exports.arrays != nullptr || viewed.exports.table != nullptr) {
    Status complete = CheckComplete(*container, context);
    // A passing error must not decide which files the directory has.
    if (!complete && complete.error().Passing()) return complete.error();
    if (!complete) viewed.incomplete = std::move(complete).error();
  }
  viewed.arrays = std::make_shared<const std::vector<ArrayInfo>>(
      UsualArrays(viewed.exports, context));
  viewed.container = std::move(container);
  return viewed;
}

class ViewsContainer final : public Container {
 public:
  explicit ViewsContainer(const Viewed& viewed)
      : Container(viewed.container->source(), /*part=*/true) {
    AddStoredSize(viewed.container->StoredSize() - StoredSize());
  }

  /// Makes the files. Must be called once, first.
  Status Make(const Viewed& viewed, const ViewSet& views,
              const ReadContext& context) {
    for (const View* view : Having(viewed.exports, views)) {
      CTXFS_TRY(view->make(viewed, context, tables_));
    }
    // Lists single files before directories of many files.
    std::stable_partition(
        tables_.begin(), tables_.end(),
        [](const auto& table) { return table->placement().directory.empty(); });
    return {};
  }

  void AddInfo(Json& /*info*/, const ReadContext& /*context*/) const override {}
  Tables Files() const override { return tables_; }

 private:
  ViewTables tables_;
};

}  // namespace

bool IsUsual(const ArrayInfo& array) { return Count(array.shape).has_value(); }

std::vector<ArrayInfo> UsualArrays(const Exports& exports,
                                   const ReadContext& context) {
  if (exports.arrays == nullptr) return {};
  std::vector<ArrayInfo> arrays = exports.arrays(context);
  std::erase_if(arrays, [](const ArrayInfo& one) { return !IsUsual(one); });
  return arrays;
}

uint64_t CountOf(const ArrayInfo& array) {
  return Count(array.shape).value_or(0);
}

void AddIncompleteNote(std::string_view name, const Error& why,
                       ViewTables& into) {
  const std::string file(name);
  into.push_back(FixedFile(
      Role::kPrimary, file + ".incomplete.txt",
      LiteralContent("There is no " + file +
                     ", because it would not be complete: " + why.Text() +
                     "\n")));
}

bool IsComplete(const Viewed& viewed, std::string_view name, ViewTables& into) {
  if (viewed.incomplete) AddIncompleteNote(name, *viewed.incomplete, into);
  return !viewed.incomplete;
}

bool MayHaveArrays(const Exports& exports) { return exports.arrays != nullptr; }

bool MayHaveViews(const Container& container, const ViewSet& views) {
  return !Having(container.Export(), views).empty();
}

ChildContainer ViewsDirectory(std::shared_ptr<const Container> container,
                              const ViewSet& views) {
  ChildContainer directory;
  directory.role = Role::kViews;
  directory.open = [container = std::move(container),
                    views](const ReadContext& context)
      -> Result<std::shared_ptr<const Container>> {
    const Viewed viewed = CTXFS_TRY(LookAt(container, context));
    auto made = std::make_shared<ViewsContainer>(viewed);
    CTXFS_TRY(made->Make(viewed, views, context));
    // After an interrupt the list of arrays may be incomplete.
    CTXFS_TRY(context.Check());
    return std::shared_ptr<const Container>(std::move(made));
  };
  return directory;
}

std::vector<ChildContainer> AttachedViews(
    const std::shared_ptr<const Container>& container, const ViewSet& views) {
  if (!MayHaveViews(*container, views)) return {};
  return {ViewsDirectory(container, views)};
}

}  // namespace ctxfs
