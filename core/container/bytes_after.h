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

/// Whether bytes may be padding.
bool AllZero(Bytes bytes);

/// The format that bytes have by their first ones: "start like a gzip file";
/// empty if it is not known. Null for `formats`: only those that are not
/// mounted.
std::string FormatText(Bytes head, const FormatSet* formats);

/// A warning of the bytes from `at` to the end of `source`, of which a
/// container shows nothing: `text`, and how they start, but for zeros. If that
/// is like another file, the container is only a part of this one.
Result<Warning> BytesAfter(const Source& source, uint64_t at, std::string text,
                           const FormatSet* formats,
                           const ReadContext& context);

}  // namespace ctxfs
