// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Fails with what a container lacks of its arrays or its table, because a part
/// is missing or damaged: what is made of all of them together, such as a model
/// in one file, would then be less than the container says that it is, and its
/// loader would not notice. Reads no more than listing the arrays does. What
/// reading alone finds out, such as a checksum that differs, is an error of the
/// read.
Status CheckComplete(const Container& container, const ReadContext& context);

}  // namespace ctxfs
