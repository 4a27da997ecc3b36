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
  kArray,   // a file per value, whose header states dtype and shape
  kValue,   // a file per value
  kList,    // a directory per value
};

/// How samples.jsonl shows a value.
enum class JsonKind : uint8_t {
  kNumbers,
  kText,
  kDigits,  // text that is a number
  kJson,
  kBytes,  // text if it is short and plain
  kFile,   // path and size of the file
};

/// A column, as index.json describes it.
struct Column {
  std::string name;
  std::string encoding;
  /// Bytes of each value; 0 if they vary, so that samples store them.
  uint64_t size = 0;
  ColumnKind kind = ColumnKind::kValue;
  JsonKind json = JsonKind::kFile;
  std::string suffix = {};  // of its files: ".txt"; for lists, of the items
  /// Whether the first values decide about the suffix.
  bool named_by_value = false;
  /// Whether the encoding is unknown.
  bool unknown = false;
  /// Bytes before the number of items of a list.
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

/// Longest header of an array: its dtype, its rank, and as many dimensions of 8
/// bytes.
constexpr uint64_t kMaxArrayHeader = 2 + 63 * 8;

/// Fails with kCorrupt if the encoding is an array that does not parse, or if
/// `size` is not that of the encoding. nullopt: the size varies.
Result<Column> MakeColumn(std::string name, std::string encoding,
                          std::optional<uint64_t> size);

/// Reads the header of an array of `size` bytes that starts with `head`. Fails
/// with kCorrupt unless its elements fill the value.
Result<StoredArray> ParseArray(const Column& column, Bytes head, uint64_t size);

/// Returns where the items of a list of `size` bytes begin and end, in the
/// value. `head`: the value, or its first ListHead bytes. Fails with kCorrupt
/// unless they fill the value, and with kLimit for too many.
Result<std::vector<uint64_t>> ParseList(const Column& column, Bytes head,
                                        uint64_t size);

/// Bytes before the first item of a list of `size` bytes that starts with
/// `start`; kCorrupt if the value is shorter.
Result<uint64_t> ListHead(const Column& column, Bytes start, uint64_t size);

}  // namespace ctxfs::mds
