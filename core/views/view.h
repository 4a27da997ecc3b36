// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/container/file_table.h"
#include "core/content/read_context.h"

namespace ctxfs {

using Arrays = std::shared_ptr<const std::vector<ArrayInfo>>;

/// The input of a view. The files of a view keep alive the parts of it that
/// they need.
struct Viewed {
  std::shared_ptr<const Container> container;
  Exports exports;
  Arrays arrays;  // UsualArrays
  /// Why no view may join all arrays or all columns (CheckComplete).
  std::optional<Error> incomplete = std::nullopt;
};

/// Tables of a view's files; paths are relative to `views/`.
using ViewTables = std::vector<std::shared_ptr<const FileTable>>;

/// A view: files made from a container's exports for programs that cannot read
/// the container's format (docs/views.md). To add a view, write a file in a
/// folder of core/views that ends in `extern const View kNameView{...};`, and
/// list it in core/views/list/views.cc.
struct View {
  std::string_view name;  // in -o views=

  /// Whether a container may have these files; reads nothing.
  bool (*may_have)(const Exports& exports);

  /// Appends the view's tables; may_have must hold for `viewed`. Reads headers
  /// and documents; neither decodes nor opens an array. Fails only with a
  /// passing error (Error::Passing), which must not decide what the view has.
  Status (*make)(const Viewed& viewed, const ReadContext& context,
                 ViewTables& into);
};

/// Views in listing order, each at most once.
using ViewSet = std::vector<const View*>;

/// Whether the container may have any of `views`; reads nothing.
bool MayHaveViews(const Container& container, const ViewSet& views);

/// Returns the directory `views/` of a container, built at its first look-up.
ChildContainer ViewsDirectory(std::shared_ptr<const Container> container,
                              const ViewSet& views);

/// Returns the directories to attach to a container besides its children:
/// `views/`, if the container may have any of `views`.
std::vector<ChildContainer> AttachedViews(
    const std::shared_ptr<const Container>& container, const ViewSet& views);

/// The View::may_have of views that show arrays.
bool MayHaveArrays(const Exports& exports);

/// Whether readers accept the shape: at most 32 dimensions, and the product of
/// the non-zero extents is below 2^59.
bool IsUsual(const ArrayInfo& array);

/// Returns the container's arrays whose shapes are usual (IsUsual).
std::vector<ArrayInfo> UsualArrays(const Exports& exports,
                                   const ReadContext& context);

/// Adds the file NAME.incomplete.txt to `into`. It states why the view has no
/// file NAME.
void AddIncompleteNote(std::string_view name, const Error& why,
                       ViewTables& into);

/// Whether a view may join all arrays or all columns in the file or directory
/// `name`. If not (Viewed::incomplete), adds a note instead of `name`
/// (AddIncompleteNote).
bool IsComplete(const Viewed& viewed, std::string_view name, ViewTables& into);

/// Returns the number of elements of an array, which must be usual (IsUsual).
uint64_t CountOf(const ArrayInfo& array);

}  // namespace ctxfs
