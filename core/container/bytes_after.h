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

/// Describes the format that first bytes indicate: "start like a gzip file";
/// empty if unknown. With null `formats`, only formats that are not mounted.
std::string FormatText(Bytes head, const FormatSet* formats);

/// A warning about the bytes from `at` to the end of `source`, which a
/// container does not show: `text`, followed by "and are all zero" or by the
/// format, if known, that they start with after any zeros. With such a format,
/// the warning is kPartial.
Result<Warning> BytesAfter(const Source& source, uint64_t at, std::string text,
                           const FormatSet* formats,
                           const ReadContext& context);

}  // namespace ctxfs
