// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctxfs {

constexpr size_t kArrowAlignment = 64;  // of messages and buffers, in bytes
/// The first 8 bytes of the file.
constexpr std::string_view kArrowMagic("ARROW1\0\0", 8);

/// The metadata of Arrow's IPC format, version 5, as far as flat tables need it
/// (arrow.apache.org, "Arrow Columnar Format", "Serialization"; the tables are
/// those of its Schema.fbs, Message.fbs and File.fbs).

/// The type of a field.
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
  /// Bits of an integer or float, bytes of fixed binary; of text and binary the
  /// bits of an offset, 32 or 64.
  int32_t width = 0;
  int32_t list_size = 0;  // above 0: lists of so many values
  bool nullable = false;
};

/// Length and nulls of an array of the record batch. A list comes before the
/// array of its values.
struct ArrowNode {
  int64_t length;
  int64_t null_count;
};

/// The position of a buffer in the body of the record batch, bytes.
struct ArrowBuffer {
  int64_t offset;
  int64_t length;
};

/// The position of a message in the file; `metadata` counts its prefix and
/// padding.
struct ArrowBlock {
  int64_t offset;
  int32_t metadata;
  int32_t padding;
  int64_t body;
};

/// Return a message with its prefix and padding. In the file the schema follows
/// the magic, and the record batch follows the schema. Both end at a multiple
/// of 64 bytes.
std::string ArrowSchemaMessage(const std::vector<ArrowField>& fields);
std::string ArrowBatchMessage(int64_t rows, const std::vector<ArrowNode>& nodes,
                              const std::vector<ArrowBuffer>& buffers,
                              int64_t body);

/// Returns the end of the file: the mark that ends the messages, the footer,
/// its length, and the magic.
std::string ArrowFooter(const std::vector<ArrowField>& fields,
                        const std::vector<ArrowBlock>& batches);

}  // namespace ctxfs
