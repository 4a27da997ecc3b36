// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/torch/global_names.h"

namespace ctxfs::torch {

/// Adds to `names` every function and class that the pickle at byte `offset` of
/// `content` names, and sets `end` to the byte after it. It knows all opcodes
/// of protocols 0 to 5 and goes past what ReadPickle does not read, so that a
/// name cannot hide behind a fault (docs/formats/torch.md, section 12). Where
/// it cannot go on, or a name is not in the pickle as text, `names` is
/// incomplete. Returns whether it reached the end of the pickle. Fails only if
/// the content cannot be read, or if it is interrupted.
Result<bool> ScanGlobals(const Content& content, uint64_t offset,
                         const ReadContext& context, GlobalNames& names,
                         uint64_t& end);

}  // namespace ctxfs::torch
