// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/cowrie/arrays.h"

namespace ctxfs::cowrie {

/// Whether `bytes` start with the magic "SJ" of a framed value, of generation 2
/// or later.
bool LooksLikeCowrie(Bytes bytes);

/// Whether `bytes` start like a graph of generation 1. Such a graph has no
/// magic, so true is weak evidence unless other metadata says that the bytes
/// are a cowrie value.
bool LooksLikeCowrieGraph1(Bytes bytes);

/// Whether `bytes` start with a tag of generation 1. This is even weaker
/// evidence than LooksLikeCowrieGraph1.
bool StartsLikeCowrie1(Bytes bytes);

struct CowrieValue {
  Json json;
  /// Offsets are in `unpacked` if it is set, else in the input.
  std::vector<CowrieArray> arrays;
  uint64_t left_out = 0;           // arrays beyond a limit
  std::optional<Buffer> unpacked;  // the decompressed value
};

/// Reads a framed value of generation 2, compressed or not; `bytes` must end
/// with it. Fails with kCorrupt, kVersion, or kLimit (limits.h). Offsets of
/// errors are in `bytes`, or in the decompressed bytes of a compressed value.
/// Checks `interrupt` every few milliseconds, like the functions below.
Result<CowrieValue> ReadCowrie(Bytes bytes,
                               const Interrupt& interrupt = NeverInterrupted());

/// The table of tags of a generation 1 value.
enum class Gen1Tags : uint8_t {
  kUnified,  // since version 2.0.0 of the reference
  kEarlier,
};
/// The form of the graphs in a generation 1 value, named after its writers.
enum class Gen1Graphs : uint8_t {
  kGo,
  kSpec,  // Python, C, Rust, TypeScript
};
struct Gen1Dialect {
  Gen1Tags tags = Gen1Tags::kUnified;
  Gen1Graphs graphs = Gen1Graphs::kGo;
};

/// Reads a value of generation 1 in one dialect; `bytes` must end with it.
/// `numbers`: whether the JSON includes elements of arrays. Fails like
/// ReadCowrie.
Result<CowrieValue> ReadCowrie1(
    Bytes bytes, const Gen1Dialect& dialect, bool numbers,
    const Interrupt& interrupt = NeverInterrupted());

/// A value of generation 1 in the likeliest dialect, without array elements.
struct Gen1Choice {
  Gen1Dialect dialect;
  CowrieValue value;
  std::string doubt;  // why another dialect is possible, too; else empty
};

/// Reads a value of generation 1 in every possible dialect, and returns the
/// likeliest (docs/formats/cowrie.md, section 5). Fails with the error of the
/// reading that got furthest.
Result<Gen1Choice> ChooseCowrie1(
    Bytes bytes, const Interrupt& interrupt = NeverInterrupted());

Result<Json> DecodeCowrie(Bytes bytes,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs::cowrie
