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

/// Whether `bytes` begin like a cowrie value of generation 2, in its frame.
bool LooksLikeCowrie(Bytes bytes);

/// Whether `bytes` begin like a graph of generation 1. That has no magic, so
/// use this only where other metadata says that the bytes are a cowrie value.
bool LooksLikeCowrieGraph1(Bytes bytes);

/// Whether `bytes` begin with a tag of generation 1: a weaker sign still.
bool StartsLikeCowrie1(Bytes bytes);

/// A cowrie value (docs/formats/cowrie.md).
struct CowrieValue {
  Json json;
  /// Their offsets are within `unpacked` if that is set, else within the bytes.
  std::vector<CowrieArray> arrays;
  uint64_t left_out = 0;           // arrays over a limit
  std::optional<Buffer> unpacked;  // the value of a compressed frame
};

/// Reads a value of generation 2 in its frame, compressed or not, which must be
/// all of `bytes`. Fails with kCorrupt, kVersion, or kLimit
/// (limits::kCowrie...); the offsets of errors are within `bytes`, or within
/// the decompressed bytes. Checks `interrupt` every few milliseconds, as do the
/// functions below.
Result<CowrieValue> ReadCowrie(Bytes bytes,
                               const Interrupt& interrupt = NeverInterrupted());

/// Which of two tables of tags a value of generation 1 is written with.
enum class Gen1Tags : uint8_t {
  kUnified,  // since version 2.0.0 of the reference
  kEarlier,
};
/// Which of two families of writers made the graphs in it.
enum class Gen1Graphs : uint8_t {
  kGo,
  kSpec,  // Python, C, Rust, TypeScript
};
struct Gen1Dialect {
  Gen1Tags tags = Gen1Tags::kUnified;
  Gen1Graphs graphs = Gen1Graphs::kGo;
};

/// Reads a value of generation 1 in one dialect, which must be all of `bytes`.
/// `numbers`: whether its JSON has the elements of its arrays too. Fails like
/// ReadCowrie.
Result<CowrieValue> ReadCowrie1(
    Bytes bytes, const Gen1Dialect& dialect, bool numbers,
    const Interrupt& interrupt = NeverInterrupted());

/// A value of generation 1, without the elements of its arrays, in the dialect
/// that its bytes fit best.
struct Gen1Choice {
  Gen1Dialect dialect;
  CowrieValue value;
  std::string doubt;  // why it could be another dialect; empty if it cannot
};

/// Reads a value of generation 1 in every dialect that it can have
/// (docs/formats/cowrie.md, section 5). Fails with the error of the reading
/// that got furthest.
Result<Gen1Choice> ChooseCowrie1(
    Bytes bytes, const Interrupt& interrupt = NeverInterrupted());

/// Reads a value of either generation, as JSON.
Result<Json> DecodeCowrie(Bytes bytes,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs::cowrie
