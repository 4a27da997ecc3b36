// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {

/// A format that ctxfs recognises but does not mount.
struct ForeignFormat {
  size_t offset;  // of its signature in the file
  std::string_view signature;
  std::string_view name;    // with its article: "a Parquet file"
  std::string_view advice;  // what reads it: "pyarrow or duckdb reads it"
};

/// Those whose files begin with bytes that are theirs alone.
std::span<const ForeignFormat> ForeignFormats();

/// Returns the foreign format of a file that starts with `head`
/// (limits::kProbeBytes, or all of a shorter file), or null.
const ForeignFormat* RecogniseForeign(Bytes head);

/// Why a file that starts with `head`, and that no probe recognises, is not a
/// container: it is empty, unfinished, or of a foreign format.
std::string WhyNoContainer(Bytes head);

}  // namespace ctxfs
