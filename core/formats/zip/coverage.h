// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/container/format.h"
#include "core/content/read_context.h"
#include "core/formats/zip/directory.h"
#include "core/io/source.h"

/// Bytes of a file that are no part of the archive that is shown
/// (docs/formats/zip.md, section 15).
namespace ctxfs::zip {

/// Adds a warning about the bytes before the first member, after the archive,
/// between the directory and the end records, and in wide gaps between members.
/// Reads no local header. `formats` are those that such bytes may be of. Fails
/// as Source::ReadAt does.
Status WarnOfOtherBytes(const Source& source, Directory& directory,
                        const FormatSet* formats, const ReadContext& context);

/// WarnOfOtherBytes takes narrow gaps for extra fields and padding. Returns an
/// error about those that hold other data. Reads the local header of every
/// member before a gap.
std::vector<Error> FindGaps(const Source& source, const Directory& directory,
                            const ReadContext& context);

}  // namespace ctxfs::zip
