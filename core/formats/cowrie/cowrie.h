// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/formats/cowrie/arrays.h"

namespace ctxfs {

/// Whether `bytes` begin as a cowrie value in its frame does: generation 2.
bool LooksLikeCowrie(Bytes bytes);

/// Whether `bytes` begin as a graph of generation 1 does, which has no magic:
/// for those who have been told that it is one.
bool LooksLikeCowrieGraph1(Bytes bytes);

/// A cowrie value (docs/cowrie.md).
struct CowrieValue {
  Json json;
  std::vector<CowrieArray> arrays;  // in the bytes, or in `unpacked`
  uint64_t left_out = 0;            // arrays over a limit
  std::optional<Buffer> unpacked;   // of a frame that was compressed
};

/// A value of generation 2 in its frame, compressed or not: all of `bytes`.
/// Fails with kCorrupt, kVersion, or kLimit (limits::kCowrie...); offsets are
/// within `bytes`, or within what they decompress to.
Result<CowrieValue> ReadCowrie(Bytes bytes);

/// A graph of generation 1, all of `bytes`; `numbers`: whether its JSON has the
/// numbers of its arrays too. Fails as ReadCowrie does.
Result<CowrieValue> ReadCowrieGraph1(Bytes bytes, bool numbers);

/// Either, as JSON.
Result<Json> DecodeCowrie(Bytes bytes);

}  // namespace ctxfs
