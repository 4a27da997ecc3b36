// SPDX-License-Identifier: Apache-2.0
//
// Uses Arrow's field numbers instead of code that flatc generates, which would
// need a schema, flatc on the build machine and a build rule. All field numbers
// are in this file.
#include "core/views/tables/arrow_message.h"

#include <flatbuffers/flatbuffers.h>

#include <bit>

#include "core/base/bytes.h"

namespace ctxfs {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::voffset_t;
using TableOffset = Offset<flatbuffers::Table>;

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(ArrowNode) == 16 && sizeof(ArrowBlock) == 24);

constexpr int16_t kVersion5 = 4;

// Members of the unions MessageHeader and Type.
constexpr uint8_t kSchemaHeader = 1;
constexpr uint8_t kBatchHeader = 3;
constexpr uint8_t kIntType = 2;
constexpr uint8_t kFloatType = 3;
constexpr uint8_t kBinaryType = 4;
constexpr uint8_t kUtf8Type = 5;
constexpr uint8_t kBoolType = 6;
constexpr uint8_t kFixedBinaryType = 15;
constexpr uint8_t kFixedListType = 16;
constexpr uint8_t kLargeBinaryType = 19;
constexpr uint8_t kLargeUtf8Type = 20;

/// The offset of field `n` in a table's vtable.
constexpr voffset_t Slot(unsigned n) {
  return static_cast<voffset_t>(4 + 2 * n);
}

uint8_t TypeOf(const ArrowField& field) {
  switch (field.kind) {
    case ArrowKind::kInt:
    case ArrowKind::kUint:
      return kIntType;
    case ArrowKind::kFloat:
      return kFloatType;
    case ArrowKind::kBool:
      return kBoolType;
    case ArrowKind::kUtf8:
      return field.width == 64 ? kLargeUtf8Type : kUtf8Type;
    case ArrowKind::kBinary:
      return field.width == 64 ? kLargeBinaryType : kBinaryType;
    case ArrowKind::kFixedBinary:
      return kFixedBinaryType;
  }
  return 0;
}

TableOffset TypeTable(FlatBufferBuilder& to, const ArrowField& field) {
  const auto start = to.StartTable();
  switch (field.kind) {
    case ArrowKind::kInt:
    case ArrowKind::kUint:
      to.AddElement<int32_t>(Slot(0), field.width, 0);  // bitWidth
      to.AddElement<uint8_t>(Slot(1), field.kind == ArrowKind::kInt, 0);
      break;
    case ArrowKind::kFloat:  // precision: half, single, double
      to.AddElement<int16_t>(Slot(0), static_cast<int16_t>(field.width / 32),
                             0);
      break;
    case ArrowKind::kFixedBinary:
      to.AddElement<int32_t>(Slot(0), field.width, 0);  // byteWidth
      break;
    case ArrowKind::kBool:
    case ArrowKind::kUtf8:
    case ArrowKind::kBinary:
      break;
  }
  return TableOffset(to.EndTable(start));
}

TableOffset FieldTable(FlatBufferBuilder& to, const ArrowField& field) {
  std::vector<TableOffset> held;
  TableOffset type;
  if (field.list_size > 0) {
    ArrowField item = field;
    item.name = "item";
    item.list_size = 0;
    item.nullable = false;
    held.push_back(FieldTable(to, item));
    const auto start = to.StartTable();
    to.AddElement<int32_t>(Slot(0), field.list_size, 0);
    type = TableOffset(to.EndTable(start));
  } else {
    type = TypeTable(to, field);
  }
  // Readers require the vector even if it is empty.
  const auto children = to.CreateVector(held);
  const auto name = to.CreateString(field.name);
  const auto start = to.StartTable();
  to.AddOffset(Slot(0), name);
  to.AddElement<uint8_t>(Slot(1), field.nullable, 0);
  to.AddElement<uint8_t>(
      Slot(2), field.list_size > 0 ? kFixedListType : TypeOf(field), 0);
  to.AddOffset(Slot(3), type);
  to.AddOffset(Slot(5), children);
  return TableOffset(to.EndTable(start));
}

TableOffset SchemaTable(FlatBufferBuilder& to,
                        const std::vector<ArrowField>& fields) {
  std::vector<TableOffset> tables;
  tables.reserve(fields.size());
  for (const ArrowField& field : fields) {
    tables.push_back(FieldTable(to, field));
  }
  const auto vector = to.CreateVector(tables);
  const auto start = to.StartTable();
  to.AddOffset(Slot(1), vector);
  return TableOffset(to.EndTable(start));
}

std::string_view TextOf(const FlatBufferBuilder& from) {
  return {reinterpret_cast<const char*>(from.GetBufferPointer()),
          from.GetSize()};
}

/// Returns the message with `header` in its frame, padded to end at a multiple
/// of kArrowAlignment if it starts at byte `at`.
std::string Message(FlatBufferBuilder& to, uint8_t kind, TableOffset header,
                    int64_t body, size_t at) {
  const auto start = to.StartTable();
  to.AddElement<int64_t>(Slot(3), body, 0);
  to.AddOffset(Slot(2), header);
  to.AddElement<int16_t>(Slot(0), kVersion5, 0);
  to.AddElement<uint8_t>(Slot(1), kind, 0);
  to.Finish(TableOffset(to.EndTable(start)));
  const std::string_view metadata = TextOf(to);
  constexpr size_t kPrefix = 8;
  const size_t end = (at + kPrefix + metadata.size() + kArrowAlignment - 1) /
                     kArrowAlignment * kArrowAlignment;
  const size_t size = end - at;
  std::string framed;
  AppendLe<uint32_t>(0xFFFFFFFF, framed);
  AppendLe<uint32_t>(static_cast<uint32_t>(size - kPrefix), framed);
  framed += metadata;
  framed.resize(size);
  return framed;
}

}  // namespace

std::string ArrowSchemaMessage(const std::vector<ArrowField>& fields) {
  FlatBufferBuilder to;
  const TableOffset schema = SchemaTable(to, fields);
  return Message(to, kSchemaHeader, schema, 0, kArrowMagic.size());
}

std::string ArrowBatchMessage(int64_t rows, const std::vector<ArrowNode>& nodes,
                              const std::vector<ArrowBuffer>& buffers,
                              int64_t body) {
  FlatBufferBuilder to;
  const auto node_vector = to.CreateVectorOfStructs(nodes.data(), nodes.size());
  const auto buffer_vector =
      to.CreateVectorOfStructs(buffers.data(), buffers.size());
  const auto start = to.StartTable();
  to.AddElement<int64_t>(Slot(0), rows, 0);
  to.AddOffset(Slot(1), node_vector);
  to.AddOffset(Slot(2), buffer_vector);
  return Message(to, kBatchHeader, TableOffset(to.EndTable(start)), body, 0);
}

std::string ArrowFooter(const std::vector<ArrowField>& fields,
                        const std::vector<ArrowBlock>& batches) {
  FlatBufferBuilder to;
  const TableOffset schema = SchemaTable(to, fields);
  const auto dictionaries =
      to.CreateVectorOfStructs(static_cast<const ArrowBlock*>(nullptr), 0);
  const auto blocks = to.CreateVectorOfStructs(batches.data(), batches.size());
  const auto start = to.StartTable();
  to.AddElement<int16_t>(Slot(0), kVersion5, 0);
  to.AddOffset(Slot(1), schema);
  to.AddOffset(Slot(2), dictionaries);
  to.AddOffset(Slot(3), blocks);
  to.Finish(TableOffset(to.EndTable(start)));
  std::string footer;
  AppendLe<uint32_t>(0xFFFFFFFF, footer);  // the end of the messages
  AppendLe<uint32_t>(0, footer);
  footer += TextOf(to);
  AppendLe<uint32_t>(to.GetSize(), footer);
  footer += kArrowMagic.substr(0, 6);  // without the padding
  return footer;
}

}  // namespace ctxfs
