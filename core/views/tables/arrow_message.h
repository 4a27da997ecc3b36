// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ctxfs {

/// The metadata of Arrow's IPC format, version 5, as far as flat tables need it
/// (arrow.apache.org, "Arrow Columnar Format", "Serialization"; the tables are
/// those of its Schema.fbs, Message.fbs and File.fbs).

/// What a field holds.
enum class ArrowKind : uint8_t {
  kInt,
  kUint,
  kFloat,
  kBool,
  kUtf8,
  kBinary,
  kFixedBinary,
};

struct ArrowField {
  std::string name;  // UTF-8
  ArrowKind kind = ArrowKind::kInt;
  /// Bits of an integer or float, bytes of fixed binary, 64 for text of long
  /// offsets and 32 for any other.
  int32_t width = 0;
  int32_t list_size = 0;  // above 0: lists of so many
  bool nullable = false;
};

/// As the record batch has them: for each array its length and nulls, lists
/// before what they hold, and where each buffer is in the body.
struct ArrowNode {
  int64_t length;
  int64_t null_count;
};
struct ArrowBuffer {
  int64_t offset;
  int64_t length;
};

/// Where a message is in the file; `metadata` counts its prefix and padding.
struct ArrowBlock {
  int64_t offset;
  int32_t metadata;
  int32_t padding;
  int64_t body;
};

/// The messages as they stand in a file, their prefix and padding included:
/// the schema's behind the magic, the batch's behind that. Both end at a
/// multiple of 64 bytes.
std::string ArrowSchemaMessage(const std::vector<ArrowField>& fields);
std::string ArrowBatchMessage(int64_t rows, const std::vector<ArrowNode>& nodes,
                              const std::vector<ArrowBuffer>& buffers,
                              int64_t body);

/// What stands behind the messages: their end, the footer and its length, and
/// the magic.
std::string ArrowFooter(const std::vector<ArrowField>& fields,
                        const std::vector<ArrowBlock>& batches);

/// What a file begins with.
std::string ArrowMagic();

}  // namespace ctxfs
