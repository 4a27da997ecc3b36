// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/file_array.h"

#include <utility>

#include "core/base/dtype.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// The file as an array; nullopt if its bytes are not exactly the elements.
/// Returns nullopt also if `info` has a note, such as about another byte order.
std::optional<ArrayInfo> StoredArray(const EntryInfo& info,
                                     const Content& content) {
  const std::optional<DType> dtype = DTypeOf(info.dtype);
  if (!dtype || !info.shape || !info.note.empty()) return std::nullopt;
  ArrayInfo array;
  array.name = info.name.value_or("");
  array.dtype = *dtype;
  array.shape = *info.shape;
  array.open = [content](const ReadContext&) -> Result<Content> {
    return content;
  };
  if (!IsUsual(array) || BytesOf(array) != content.size()) return std::nullopt;
  return array;
}

/// The exported array with the name of a file.
std::optional<ArrayInfo> ExportedArray(SourceTree& tree,
                                       const SourceTree::File& file,
                                       const EntryInfo& info,
                                       const ReadContext& context) {
  const Result<SourceTree::File> above = tree.Find(DirectoryOfPath(file.path));
  if (!above) return std::nullopt;
  const auto container = ContainerAround(tree, *above);
  if (!container) return std::nullopt;
  // Array names have no suffix.
  const std::string name = info.name.value_or("");
  const std::string stem = name.substr(0, name.rfind('.'));
  for (ArrayInfo& array : UsualArrays((*container)->Export(), context)) {
    if (array.name == name || array.name == stem) return std::move(array);
  }
  return std::nullopt;
}

}  // namespace

std::string DirectoryOfPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string::npos ? 0 : slash);
}

Result<std::shared_ptr<const Container>> ContainerAround(
    SourceTree& tree, SourceTree::File directory) {
  for (;;) {
    auto container = tree.ContainerAt(directory);
    if (container || container.error().code != Code::kNotContainer ||
        directory.path.empty()) {
      return container;
    }
    directory = CTXFS_TRY(tree.Find(DirectoryOfPath(directory.path)));
  }
}

std::optional<ArrayInfo> ArrayOfFile(SourceTree& tree,
                                     const SourceTree::File& file,
                                     const EntryInfo& info,
                                     const Content& content,
                                     const ReadContext& context) {
  std::optional<ArrayInfo> array = StoredArray(info, content);
  if (!array && !info.dtype.empty()) {
    array = ExportedArray(tree, file, info, context);
  }
  return array;
}

}  // namespace ctxfs
