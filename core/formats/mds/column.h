// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"

namespace ctxfs::mds {

/// How a column is shown (docs/formats/mds.md, sections 4 and 6).
enum class ColumnKind : uint8_t {
  kJoined,  // one file of all values, which have one dtype and shape
  kArray,   // a file per value; the value has a header with its shape
  kValue,   // a file per value
  kList,    // a directory per value
};

/// How samples.jsonl shows a value.
enum class JsonKind : uint8_t {
  kNumbers,
  kText,
  kDigits,  // text that is a number
  kJson,
  kBytes,  // as kText if it is short and readable, else as kFile
  kFile,   // path and size of the file
};

/// A column, as index.json describes it.
struct Column {
  std::string name;
  std::string encoding;
  /// Bytes of each value; 0 if sizes vary, so that each sample stores its own.
  uint64_t size = 0;
  ColumnKind kind = ColumnKind::kValue;
  JsonKind json = JsonKind::kFile;
  std::string suffix = {};  // of its files: ".txt"; for lists, of the items
  /// Whether FindSuffix decides the suffix by the first values; `suffix` is
  /// then only the default.
  bool named_by_value = false;
  /// Whether the encoding is unknown.
  bool unknown = false;
  /// Bytes of a list that precede its number of items.
  uint64_t list_start = 0;
  std::optional<DType> dtype =
      std::nullopt;  // of arrays, unless each value states its own
  std::vector<uint64_t> shape = {};  // of a joined value
};

/// The elements of a stored array.
struct StoredArray {
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;  // of the elements, in the value
};

/// Maximum size in bytes of an array's header: a byte of dtype, a byte of rank,
/// and kMaxRank = 63 dimensions of 8 bytes.
constexpr uint64_t kMaxArrayHeader = 2 + 63 * 8;

/// Makes a column from its fields in index.json. `size` is nullopt if the sizes
/// of values vary. Fails with kCorrupt if an encoding of arrays does not parse,
/// or if `size` contradicts the encoding.
Result<Column> MakeColumn(std::string name, std::string encoding,
                          std::optional<uint64_t> size);

/// Reads the header of an array of `size` bytes that starts with `head`. Fails
/// with kCorrupt unless the elements fill the rest of the value.
Result<StoredArray> ParseArray(const Column& column, Bytes head, uint64_t size);

/// Returns the offset of each item in a list of `size` bytes, and then the end
/// of the last item. `head` must have at least the first ListHead bytes of the
/// list. Fails with kCorrupt unless the items fill the list, and with kLimit if
/// there are more than kMaxItems.
Result<std::vector<uint64_t>> ParseList(const Column& column, Bytes head,
                                        uint64_t size);

/// Returns the number of bytes before the first item of a list of `size` bytes.
/// `start` must have its first 8 bytes, or all. Fails with kCorrupt if the list
/// has fewer bytes, and with kLimit if it has more than kMaxItems items.
Result<uint64_t> ListHead(const Column& column, Bytes start, uint64_t size);

}  // namespace ctxfs::mds
