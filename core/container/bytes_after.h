// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

class FormatSet;

/// Whether bytes are all zero, so that they may be padding.
bool AllZero(Bytes bytes);

/// Describes the format of a file that starts with `head`: "start like a gzip
/// file"; empty if the format is unknown. If `formats` is null, recognises only
/// formats that ctxfs does not mount.
std::string FormatText(Bytes head, const FormatSet* formats);

/// Returns a warning about the bytes from `at` to the end of `source`, which a
/// container does not show. The warning is `text`, followed by "and are all
/// zero" or, if known, by the format of the bytes after any zeros (FormatText).
/// If the format is known, the warning is kPartial.
Result<Warning> BytesAfter(const Source& source, uint64_t at, std::string text,
                           const FormatSet* formats,
                           const ReadContext& context);

}  // namespace ctxfs
