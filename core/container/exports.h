// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/container/table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

struct ArrayInfo {
  std::string name;  // a path for the array's files in views
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;  // outermost first; empty for a scalar
  /// The elements, little-endian and row-major: exactly the bytes that dtype
  /// and shape need, checked against the bytes in the file.
  std::function<Result<Content>(const ReadContext&)> open;
  /// Whether `open` reads the container. Views then delay calling it.
  bool opening_reads = false;
  /// Whether it is the result of applying a delta to another array.
  bool merged = false;
  /// Whether its elements are wider than the stored ones, because no DType is
  /// as narrow. Views that must keep the stored type omit the array.
  bool widened = false;
};

/// The purpose of a model's file, which its name does not show reliably.
enum class DocumentRole : uint8_t {
  kDescription,  // a JSON object about the whole container
  kConfig,
  kGenerationConfig,
  kTokenizer,
  kTokenizerConfig,
  kVocabulary,
  kMerges,
  kTokenizerModel,  // of sentencepiece
  kSpecialTokens,
  kAddedTokens,
  kChatTemplate,
};

/// A file of a container for views: number `file` of `table`.
struct Document {
  DocumentRole role = DocumentRole::kDescription;
  std::shared_ptr<const FileTable> table;
  uint32_t file = 0;
};

/// The parts of a container for views. Making an Exports reads nothing.
struct Exports {
  /// Returns every array, in the order of the container's files. Null if there
  /// can be none. May read a little of each array.
  std::function<std::vector<ArrayInfo>(const ReadContext&)> arrays = nullptr;
  /// Returns all weights of a model with their values, under the names that
  /// loaders expect: quantised ones as float32, deltas applied (docs/views.md,
  /// section 4). Reads at most headers. Fails if a weight cannot be read or has
  /// no values: a loader would silently use random values instead, or take the
  /// codes for values. If null, `arrays` has all weights.
  std::function<Result<std::vector<ArrayInfo>>(const ReadContext&)> weights =
      nullptr;
  /// Fails if `arrays` or `table` is incomplete for a reason that CheckComplete
  /// does not find among the faults of the container and of its entries. Reads
  /// no more than `arrays` does. Null if no such reason is possible.
  std::function<Status(const ReadContext&)> complete = nullptr;
  /// The base name of the view that joins all arrays (JoinedView), such as
  /// "model"; empty if there is no such view.
  std::string_view bundle_name = {};
  /// Whether rows of arrays are vectors for nearest-neighbour search.
  bool vectors = false;

  /// Returns the container as a table. Null if it is no table. Reads nothing.
  std::function<Table()> table = nullptr;

  std::vector<Document> documents = {};

  bool HasDocument(DocumentRole role) const {
    return std::any_of(
        documents.begin(), documents.end(),
        [role](const Document& document) { return document.role == role; });
  }
};

}  // namespace ctxfs
