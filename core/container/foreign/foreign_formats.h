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
  std::string_view advice;  // a reader: "pyarrow or duckdb reads it"
  /// Whether a file with the signature has this format. `source` is null if
  /// only `head` is known. Null: the signature suffices.
  bool (*matches)(Bytes head, const Source* source,
                  const Request& request) = nullptr;
};

/// The advice on pickles, and on files that contain one.
constexpr std::string_view kRunsCode =
    "loading it runs whatever code its writer put into it; 'python3 -m "
    "pickletools' lists that without running it";

/// All foreign formats, with a signature or a probe.
std::span<const ForeignFormat> ForeignFormats();

/// Returns the foreign format of a file that starts with `head`
/// (limits::kProbeBytes, or all of a shorter file), or null. Without `source`,
/// formats that need other bytes are not recognised.
const ForeignFormat* RecogniseForeign(Bytes head,
                                      const Source* source = nullptr,
                                      const Request& request = Request());

/// Whether `head`, which may be truncated at limits::kProbeBytes, is UTF-8
/// without characters below U+0020 other than tabs and line breaks. False if it
/// is empty.
bool LooksLikeText(Bytes head);

/// Returns why an unrecognised file that starts with `head` is not a container:
/// it is empty, unfinished, or of a foreign format. Examines the decoded start
/// of gzip, zlib and zstd files.
std::string WhyNoContainer(Bytes head, const Source* source = nullptr,
                           const Request& request = Request());

/// Returns why a directory is no container: ": it is a Core ML package; ...".
/// Empty if its kind is unknown.
std::string ForeignDirectory(const Source& directory,
                             const Request& request = Request());

}  // namespace ctxfs
