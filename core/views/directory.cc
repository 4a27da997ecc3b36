// SPDX-License-Identifier: Apache-2.0
//
// The directory `views/`: a container of no entries that hangs in another.
#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr size_t kMostDimensions = 32;             // what numpy takes
constexpr uint64_t kMostElements = INT64_MAX / 8;  // of the widest, in bytes

/// The elements of a shape; nothing for one that nobody reads.
std::optional<uint64_t> Count(const std::vector<uint64_t>& shape) {
  if (shape.size() > kMostDimensions) return std::nullopt;
  uint64_t count = 1;
  uint64_t all = 1;  // as if none were 0: readers multiply in their own order
  for (const uint64_t extent : shape) {
    const std::optional<uint64_t> product =
        CheckedMul(all, extent == 0 ? 1 : extent);
    if (!product || *product > kMostElements) return std::nullopt;
    all = *product;
    count *= extent == 0 ? 0 : extent;
  }
  return count;
}

/// Asks for the arrays, once for all views.
Viewed LookAt(std::shared_ptr<const Container> container,
              const ReadContext& context) {
  Viewed viewed;
  std::vector<ArrayInfo> arrays;
  if (const std::optional<ArraysUse> use = container->ArraysUsed()) {
    viewed.use = *use;
    arrays = container->Arrays(context);
  }
  std::erase_if(arrays, [](const ArrayInfo& one) { return !IsUsual(one); });
  const std::string directory = std::string(viewed.use.directory) + "/";
  for (ArrayInfo& array : arrays) {
    if (directory.size() > 1 && array.name.starts_with(directory)) {
      array.name.erase(0, directory.size());
    }
  }
  viewed.arrays =
      std::make_shared<const std::vector<ArrayInfo>>(std::move(arrays));
  viewed.container = std::move(container);
  return viewed;
}

class ViewsContainer final : public Container {
 public:
  ViewsContainer(const Viewed& viewed, const ViewSet& views)
      : Container(viewed.container->source()),
        stored_size_(viewed.container->StoredSize()) {
    for (size_t i = 0; i < Views().size(); ++i) {
      if (views.test(i)) Views()[i]->make(viewed, files_);
    }
  }

  uint64_t StoredSize() const override { return stored_size_; }
  std::vector<OwnFile> OwnFiles() const override { return files_.own; }
  std::vector<std::shared_ptr<const DerivedFiles>> Derived() const override {
    return files_.derived;
  }
  std::vector<NumberedFiles> Numbered() const override {
    return files_.numbered;
  }
  bool HasAbout() const override { return false; }

  Json Info(const ReadContext& /*context*/) const override {
    return Json::object();
  }
  uint32_t entry_count() const override { return 0; }

  // There is no entry that any of these could be asked of.
  std::optional<std::string_view> EntryName(uint32_t) const override {
    return std::nullopt;
  }
  uint64_t EntrySize(uint32_t) const override { return 0; }
  EntryInfo Describe(uint32_t) const override { return {}; }
  Result<Content> OpenEntry(uint32_t,
                            const ReadContext& /*context*/) const override {
    return Error{Code::kNotFound, "views have no entries"};
  }

 private:
  uint64_t stored_size_;  // of the container that is viewed
  ViewFiles files_;
};

}  // namespace

bool IsUsual(const ArrayInfo& array) { return Count(array.shape).has_value(); }

uint64_t CountOf(const ArrayInfo& array) {
  return Count(array.shape).value_or(0);
}

bool MayHaveArrays(const Container& container) {
  return container.ArraysUsed().has_value();
}

bool MayHaveViews(const Container& container, const ViewSet& views) {
  for (size_t i = 0; i < Views().size(); ++i) {
    if (views.test(i) && Views()[i]->may_have(container)) return true;
  }
  return false;
}

SubContainer ViewsDirectory(std::shared_ptr<const Container> container,
                            const ViewSet& views) {
  SubContainer directory;
  directory.path = "views";
  directory.open = [container = std::move(container),
                    views](const ReadContext& context)
      -> Result<std::shared_ptr<const Container>> {
    const Viewed viewed = LookAt(container, context);
    auto made = std::make_shared<const ViewsContainer>(viewed, views);
    // Interrupted, the arrays are incomplete.
    if (Status wanted = context.Check(); !wanted) {
      return std::move(wanted).error();
    }
    return std::shared_ptr<const Container>(std::move(made));
  };
  return directory;
}

std::vector<SubContainer> AttachedViews(
    const std::shared_ptr<const Container>& container, const ViewSet& views) {
  if (!MayHaveViews(*container, views)) return {};
  return {ViewsDirectory(container, views)};
}

}  // namespace ctxfs
