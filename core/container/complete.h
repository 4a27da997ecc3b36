// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Fails if the container's arrays or table are incomplete, because a part is
/// missing or damaged. The error names that part. A file that joins all arrays,
/// such as a model in one file, would then lack some, and its loader would not
/// notice. Reads as much as listing the arrays does. Does not detect faults
/// that only reading the data reveals, such as a checksum mismatch; the read
/// reports them.
Status CheckComplete(const Container& container, const ReadContext& context);

/// Returns the name of the file in views/ that only a complete container has:
/// the file with all arrays, such as "model.safetensors", or else the file of
/// the table. Empty if there is none.
std::string JoinedView(const Exports& exports);

/// Like CheckComplete, for a reader of bytes: an array counts as present if
/// ctxfs cannot decode its type, or if no key was given for it.
Status CheckPresent(const Container& container, const ReadContext& context);

}  // namespace ctxfs
