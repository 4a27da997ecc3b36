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

// Encodes the metadata of the Arrow IPC format, version 5, for flat tables
// (arrow.apache.org, "Arrow Columnar Format", "Serialization"; the tables of
// Schema.fbs, Message.fbs and File.fbs).

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
  /// For kInt, kUint and kFloat: bits of the number. For kFixedBinary: bytes.
  /// For kUtf8 and kBinary: bits of an offset, 32 or 64.
  int32_t width = 0;
  int32_t list_size = 0;  // 0: no list; else the values of each list
  bool nullable = false;
};

/// Length and null count of an array in the record batch. The node of a list
/// precedes the node of its values.
struct ArrowNode {
  int64_t length;
  int64_t null_count;
};

/// The position of a buffer in the body of the record batch, bytes.
struct ArrowBuffer {
  int64_t offset;
  int64_t length;
};

/// A message's position in the file; `metadata` includes prefix and padding.
struct ArrowBlock {
  int64_t offset;
  int32_t metadata;
  int32_t padding;
  int64_t body;
};

/// These functions return a message with its prefix and padding. A file
/// consists of the magic, the schema, the record batch and the footer. The
/// messages of the schema and of the record batch end at multiples of 64 bytes
/// in the file.
std::string ArrowSchemaMessage(const std::vector<ArrowField>& fields);
std::string ArrowBatchMessage(int64_t rows, const std::vector<ArrowNode>& nodes,
                              const std::vector<ArrowBuffer>& buffers,
                              int64_t body);

/// Returns the file's end: end mark, footer, footer length, magic.
std::string ArrowFooter(const std::vector<ArrowField>& fields,
                        const std::vector<ArrowBlock>& batches);

}  // namespace ctxfs
