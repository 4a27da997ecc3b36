// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/torch/global_names.h"

namespace ctxfs::torch {

/// Adds to `names` every function and class that the pickle at byte `offset` of
/// `content` names. Sets `end` to the byte after the pickle. The scan supports
/// all opcodes of protocols 0 to 5, and continues after opcodes that ReadPickle
/// rejects, so that no name can hide behind a fault (docs/formats/torch.md,
/// section 12). Marks `names` as incomplete if the scan must stop early, or if
/// a name is too long or is not in the pickle as text. Returns whether the scan
/// reached the end of the pickle. Fails only if reading the content fails,
/// memory runs out, or the request is interrupted.
Result<bool> ScanGlobals(const Content& content, uint64_t offset,
                         const ReadContext& context, GlobalNames& names,
                         uint64_t& end);

}  // namespace ctxfs::torch
