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

/// Bytes [begin, end) of the file.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// The data of a record in memory, or a part of it, and its place in the file.
struct RecordBytes {
  Bytes bytes;
  uint64_t at = 0;

  Bytes Of(const Span& span) const {
    return bytes.subspan(static_cast<size_t>(span.begin - at),
                         static_cast<size_t>(span.size()));
  }
};

/// The kind of the values of a feature.
enum class ValueKind : uint8_t {
  kNone = 0,
  kBytes = 1,
  kFloats = 2,
  kInts = 3
};

/// One value of bytes, or at most kMaxCount numbers.
struct Run {
  /// So that a read in the middle of 10^8 varints does not start at the first.
  static constexpr uint32_t kMaxCount = 4096;

  Span span;
  uint32_t count = 1;
  /// Whether it has values alone. Otherwise a tag is before each number.
  bool packed = true;
};

/// A feature of a record: where its values are, in order. Of values of bytes it
/// has kMaxFiles and one more at most.
struct Feature {
  ValueKind kind = ValueKind::kNone;
  uint64_t count = 0;  // of values
  std::vector<Run> runs = {};

  bool HoldsNumbers() const {
    return kind == ValueKind::kInts || kind == ValueKind::kFloats;
  }
  /// Bytes of a number in a file: of an i64 or an f32.
  size_t width() const { return kind == ValueKind::kInts ? 8 : 4; }
};

/// Calls `use` with the bits of each number of a run. Returns false if `bytes`
/// are not what was parsed.
template <typename Use>
bool ForEachNumber(ValueKind kind, const Run& run, Bytes bytes,
                   const Use& use) {
  ByteReader in(bytes);
  for (uint32_t i = 0; i < run.count; ++i) {
    if (!run.packed) (void)in.Uvarint();  // the tag
    const uint64_t bits = kind == ValueKind::kInts ? in.Uvarint() : in.U32();
    if (!in.ok()) return false;
    use(bits);
  }
  return true;
}

struct FeatureList {
  std::vector<Feature> steps;
  /// Whether all steps have the same kind of numbers, and as many.
  bool regular = true;

  /// Whether the numbers are one array.
  bool IsArray() const { return regular && !steps.empty(); }
};

/// A record as tf.train.Example or, with `lists`, tf.train.SequenceExample
/// (docs/formats/tfrecord.md, section 3). Names refer to the bytes of the
/// record. They are in order, because protobuf writers order maps by hash, so
/// that two records of one file differ.
struct Example {
  std::map<std::string_view, Feature> features;  // or those of the context
  std::map<std::string_view, FeatureList> lists;
  bool too_many = false;  // names: the rest is left out
};

/// What all records of a file are.
enum class RecordKind : uint8_t { kUnknown, kExample, kSequence };

/// Parses a record of this kind, not kUnknown. Fails with kCorrupt if it is
/// none.
Result<Example> ParseExample(const RecordBytes& record, RecordKind kind,
                             const ReadContext& context);

/// Returns what a record is, by its bytes alone. Fails only if interrupted or
/// refused memory.
Result<RecordKind> KindOf(Bytes record, const ReadContext& context);

}  // namespace ctxfs::tfrecord
