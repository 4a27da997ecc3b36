// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/result.h"

namespace ctxfs {

/// A tensor within a cowrie value.
struct CowrieArray {
  std::string path;  // where in the value: "/input", "/meta/0"
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;  // outermost first
  std::string data;             // little-endian, as many bytes as they make
};

/// A cowrie value: as JSON (docs/sampleshard.md, section 3), and its tensors
/// of types that are a DType.
struct Cowrie {
  Json value;
  std::vector<CowrieArray> arrays;
};

/// Whether `bytes` begin as a cowrie value in its frame does.
bool LooksLikeCowrie(Bytes bytes);

/// Decodes one cowrie gen2 value in its frame, compressed or not: all of
/// `bytes`. Fails with kCorrupt, kVersion, or kLimit (limits::kCowrie...);
/// offsets are within `bytes`, or within what they decompress to.
Result<Cowrie> DecodeCowrie(Bytes bytes);

}  // namespace ctxfs
