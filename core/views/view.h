// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/container/file_table.h"
#include "core/content/read_context.h"

namespace ctxfs {

using Arrays = std::shared_ptr<const std::vector<ArrayInfo>>;

/// A container as views see it. Views keep parts of it alive.
struct Viewed {
  std::shared_ptr<const Container> container;
  Exports exports;
  Arrays arrays;  // UsualArrays
};

/// Tables of a view's files; paths are relative to `views/`.
using ViewTables = std::vector<std::shared_ptr<const FileTable>>;

/// Files made of a container's exports for programs that do not know its format
/// (docs/views.md). To add a view, write a file in a folder of core/views that
/// ends in `extern const View kNameView{...};`, and name it in
/// core/views/list/views.cc.
struct View {
  std::string_view name;  // in -o views=

  /// Whether a container may have such files; reads nothing.
  bool (*may_have)(const Exports& exports);

  /// Appends the view's tables; `viewed` may have it. Reads headers and
  /// documents, and neither decodes nor opens an array.
  void (*make)(const Viewed& viewed, const ReadContext& context,
               ViewTables& into);
};

/// Views in the order in which their files are listed, each at most once.
using ViewSet = std::vector<const View*>;

/// Whether the container may have any of `views`; reads nothing.
bool MayHaveViews(const Container& container, const ViewSet& views);

/// The directory `views/` of a container, made when it is first looked into.
ChildContainer ViewsDirectory(std::shared_ptr<const Container> container,
                              const ViewSet& views);

/// Returns the directories to attach to a container besides its own children:
/// `views/`, if the container may have any of `views`.
std::vector<ChildContainer> AttachedViews(
    const std::shared_ptr<const Container>& container, const ViewSet& views);

/// may_have of views that are made of arrays.
bool MayHaveArrays(const Exports& exports);

/// Whether readers accept the shape of an array: at most 32 dimensions, and the
/// product of those that are not 0 is below 2^59.
bool IsUsual(const ArrayInfo& array);

/// The container's arrays except those of shapes that no reader takes.
std::vector<ArrayInfo> UsualArrays(const Exports& exports,
                                   const ReadContext& context);

/// Elements of a usual array.
uint64_t CountOf(const ArrayInfo& array);

}  // namespace ctxfs
