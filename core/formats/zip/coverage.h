// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/container/format.h"
#include "core/content/read_context.h"
#include "core/formats/zip/directory.h"
#include "core/io/source.h"

/// Finds bytes of a file outside the archive (docs/formats/zip.md, section 15).
namespace ctxfs::zip {

/// Warns about bytes before the first member, after the archive, between
/// directory and end records, and in wide gaps between members. Reads no local
/// header. `formats` identify the bytes. Fails as Source::ReadAt does.
Status WarnOfOtherBytes(const Source& source, Directory& directory,
                        const FormatSet* formats, const ReadContext& context);

/// Returns one error about all narrow gaps that hold data, or the error of a
/// failed read; empty if there is neither. WarnOfOtherBytes assumes that narrow
/// gaps are extra fields and padding. Reads the local header of every member
/// before a narrow gap.
std::vector<Error> FindGaps(const Source& source, const Directory& directory,
                            const ReadContext& context);

}  // namespace ctxfs::zip
