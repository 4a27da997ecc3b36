// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/container.h"
#include "core/container/derived.h"
#include "core/container/numbered.h"

namespace ctxfs {

/// A container as views see it. Whatever is made of it keeps parts alive.
struct Viewed {
  std::shared_ptr<const Container> container;
  ArraysUse use;
  /// The container's arrays but for those of shapes that nobody reads
  /// (IsUsual), their names without the directory that says nothing of them.
  std::shared_ptr<const std::vector<ArrayInfo>> arrays;
};

/// What views add to the directory `views/`; paths are relative to it.
struct ViewFiles {
  std::vector<OwnFile> own;
  std::vector<std::shared_ptr<const DerivedFiles>> derived;
  std::vector<NumberedFiles> numbered;
};

/// Files made of a container for those who know nothing of it (docs/views.md).
/// To add one, write core/views/NAME.cc that ends in
/// `extern const View kNameView{...};` and name it in registry.cc. A view costs
/// its headers: `make` neither decodes nor opens an array.
struct View {
  std::string_view name;  // as -o views= has it

  /// Whether the container may have such files; reads nothing.
  bool (*may_have)(const Container& container);

  void (*make)(const Viewed& viewed, ViewFiles& into);
};

/// Every view, in the order their files are listed.
std::span<const View* const> Views();

/// Some of them, by their place in Views().
using ViewSet = std::bitset<32>;
ViewSet AllViews();

/// Reads "all", "none", or names with a colon or comma between; nothing for
/// what is none of these.
std::optional<ViewSet> ParseViews(std::string_view list);
bool IsView(std::string_view name);
/// Their names, with commas between.
std::string ViewNames();

/// Whether the container may have any of `views`; reads nothing.
bool MayHaveViews(const Container& container, const ViewSet& views);

/// The directory `views/` of a container, made when it is first looked into.
SubContainer ViewsDirectory(std::shared_ptr<const Container> container,
                            const ViewSet& views);

/// What hangs in a container besides its own: that directory, if it may have
/// any of `views`.
std::vector<SubContainer> AttachedViews(
    const std::shared_ptr<const Container>& container, const ViewSet& views);

/// may_have of views that are made of arrays.
bool MayHaveArrays(const Container& container);

/// Whether an array has a shape that its readers take: at most 32 dimensions,
/// whose product is below 2^60 when those of 0 are left out.
bool IsUsual(const ArrayInfo& array);

/// Elements of a usual array.
uint64_t CountOf(const ArrayInfo& array);

}  // namespace ctxfs
