// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs::tfrecord {

/// The kind of the values of a feature.
enum class ValueKind : uint8_t {
  kNone = 0,
  kBytes = 1,
  kFloats = 2,
  kInts = 3
};

/// A feature of a record: the messages of its list, BytesList and the like, in
/// order; protobuf concatenates them. Refers to the bytes of the record.
struct Feature {
  ValueKind kind = ValueKind::kNone;
  uint64_t count = 0;  // of values
  Bytes list = {};
  std::vector<Bytes> more = {};  // further messages of the list

  template <typename Use>
  void ForEachList(const Use& use) const {
    if (!list.empty()) use(list);
    for (const Bytes further : more) use(further);
  }
};

/// In the order of the bytes of their names: protobuf writers order maps by
/// hash, so that two records of one file differ.
using Features = std::map<std::string_view, Feature>;
using FeatureLists = std::map<std::string_view, std::vector<Feature>>;

/// Whether the numbers of a feature list are one array: all steps have the same
/// kind of numbers, and as many.
bool IsRegular(const std::vector<Feature>& steps);

/// A record as tf.train.Example or, with `lists`, tf.train.SequenceExample
/// (docs/formats/tfrecord.md, section 3).
struct Example {
  Features features;  // those of the context of a SequenceExample
  FeatureLists lists;
  bool too_many = false;  // names: the rest is left out
};

/// What all records of a file are.
enum class RecordKind : uint8_t { kUnknown, kExample, kSequence };

/// Parses a record of this kind, not kUnknown. Fails with kCorrupt (offset: a
/// byte of the record) if it is none.
Result<Example> ParseExample(Bytes record, RecordKind kind,
                             const ReadContext& context);

/// Returns what a record is, by its bytes alone. Fails only if interrupted or
/// refused memory.
Result<RecordKind> KindOf(Bytes record, const ReadContext& context);

/// Reads the fields of a protobuf message. The first fault is final.
class WireReader {
 public:
  struct Field {
    uint64_t number = 0;
    unsigned type = 0;
    uint64_t value = 0;  // of types 0 and 5
    Bytes bytes = {};    // of type 2

    bool IsBytes(uint64_t wanted) const {
      return number == wanted && type == 2;
    }
  };

  explicit WireReader(Bytes message) : left_(message) {}

  /// Reads the next field. Skips groups. Returns false at the end and after a
  /// fault.
  bool Next(Field& field);
  bool ok() const { return ok_; }
  /// Bytes that are not read yet.
  Bytes left() const { return left_; }

  // The parts of Next.
  bool ReadTag(Field& field);
  void ReadValue(Field& field);
  uint64_t Varint();

 private:
  void SkipGroup(uint64_t number);
  Bytes Take(uint64_t count);

  Bytes left_;
  bool ok_ = true;
};

/// Calls `use` for each value of a BytesList.
template <typename Use>
void ForEachValue(const Feature& feature, const Use& use) {
  feature.ForEachList([&](Bytes list) {
    WireReader in(list);
    WireReader::Field field;
    while (in.Next(field)) {
      if (field.IsBytes(1)) use(field.bytes);
    }
  });
}

}  // namespace ctxfs::tfrecord
