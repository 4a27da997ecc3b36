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

/// The data of a record in memory, or a part of it, and the offset in the file
/// of its first byte.
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

/// The place of one value of bytes, or of at most kMaxCount numbers.
struct Run {
  /// Bounds a run, so that a read in the middle of 10^8 varints need not decode
  /// all varints before it.
  static constexpr uint32_t kMaxCount = 4096;

  Span span;
  uint32_t count = 1;
  /// If false, a tag precedes each number in the span.
  bool packed = true;
};

/// A feature of a record. `runs` has the places of its values, in order; of
/// values of bytes, at most the first kMaxFiles + 1.
struct Feature {
  ValueKind kind = ValueKind::kNone;
  uint64_t count = 0;  // number of values
  std::vector<Run> runs = {};

  bool HoldsNumbers() const {
    return kind == ValueKind::kInts || kind == ValueKind::kFloats;
  }
  /// Size in bytes of a number in a file of a sample: an i64 or an f32.
  size_t width() const { return kind == ValueKind::kInts ? 8 : 4; }
};

/// Calls `use` with the bits of each number of a run. `bytes` must be the bytes
/// of run.span. Returns false if they no longer parse because the file has
/// changed.
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
  /// Whether all steps have numbers of the same kind, and equally many.
  bool regular = true;

  /// Whether the numbers of all steps are shown as one array.
  bool IsArray() const { return regular && !steps.empty(); }
};

/// A record as tf.train.Example or, with `lists`, tf.train.SequenceExample
/// (docs/formats/tfrecord.md, section 3). Names point into the bytes of the
/// record. The maps sort them, because protobuf writers order maps by hash, so
/// the order of names differs between records.
struct Example {
  std::map<std::string_view, Feature> features;  // a sequence: of its context
  std::map<std::string_view, FeatureList> lists;
  bool too_many = false;  // over a limit, so some are missing
};

/// The message type of all records of a file.
enum class RecordKind : uint8_t { kUnknown, kExample, kSequence };

/// Parses a record as `kind`, which must not be kUnknown. Fails with kCorrupt
/// if it does not parse.
Result<Example> ParseExample(const RecordBytes& record, RecordKind kind,
                             const ReadContext& context);

/// Returns the message type of a record, judged by its bytes alone. Fails only
/// if interrupted or refused memory.
Result<RecordKind> KindOf(Bytes record, const ReadContext& context);

}  // namespace ctxfs::tfrecord
