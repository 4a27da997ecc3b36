// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/io/source.h"

namespace ctxfs {

/// A format that ctxfs recognises but does not mount.
struct ForeignFormat {
  size_t offset;  // of its signature in the file
  std::string_view signature;
  std::string_view name;    // with its article: "a Parquet file"
  std::string_view advice;  // what reads it: "pyarrow or duckdb reads it"
  /// Whether a file with the signature is of this format. `source` is null if
  /// only `head` is known. Null: the signature says it.
  bool (*matches)(Bytes head, const Source* source,
                  const Request& request) = nullptr;
};

/// The advice on pickles, and on files that hold one.
constexpr std::string_view kRunsCode =
    "loading it runs whatever code its writer put into it; 'python3 -m "
    "pickletools' lists that without running it";

/// The foreign formats that a signature or their structure identifies.
std::span<const ForeignFormat> ForeignFormats();

/// Returns the foreign format of a file that starts with `head`
/// (limits::kProbeBytes, or all of a shorter file), or null. Without `source`
/// formats that are recognised by other bytes are not.
const ForeignFormat* RecogniseForeign(Bytes head,
                                      const Source* source = nullptr,
                                      const Request& request = Request());

/// Whether `head`, which may be cut at limits::kProbeBytes, is UTF-8 without
/// control characters.
bool LooksLikeText(Bytes head);

/// Why a file that starts with `head`, and that no format recognises, is not a
/// container: it is empty, unfinished, or of a foreign format. Looks into the
/// start of gzip, zlib and zstd files.
std::string WhyNoContainer(Bytes head, const Source* source = nullptr,
                           const Request& request = Request());

/// Why there is no container in a directory: ": it is a Core ML package; ...".
/// Empty if it is of no known kind.
std::string ForeignDirectory(const Source& directory,
                             const Request& request = Request());

}  // namespace ctxfs
