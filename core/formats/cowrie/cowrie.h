// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/interrupt.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/formats/cowrie/arrays.h"

namespace ctxfs::cowrie {

/// Whether `bytes` begin like a cowrie value of generation 2, in its frame.
bool LooksLikeCowrie(Bytes bytes);

/// Whether `bytes` begin like a graph of generation 1. That has no magic, so
/// use this only where other metadata says that the bytes are a cowrie value.
bool LooksLikeCowrieGraph1(Bytes bytes);

/// A cowrie value (docs/cowrie.md).
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

/// Reads a graph of generation 1, which must be all of `bytes`. `numbers`:
/// whether its JSON has the elements of its arrays too. Fails like ReadCowrie.
Result<CowrieValue> ReadCowrieGraph1(
    Bytes bytes, bool numbers, const Interrupt& interrupt = NeverInterrupted());

/// Reads a value of either generation, as JSON.
Result<Json> DecodeCowrie(Bytes bytes,
                          const Interrupt& interrupt = NeverInterrupted());

}  // namespace ctxfs::cowrie
