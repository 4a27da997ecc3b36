// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Whether an entry of that name may be a container itself, and is worth a look
/// (docs/tree.md, section 4): its extension is one that containers have.
bool MayBeContainer(std::string_view name);

/// Whether the entry is one, by its first bytes. `listing`: it is not to be
/// decoded, and believed if it would have to be.
Result<bool> IsContainerEntry(const Container& container, uint32_t entry,
                              bool listing, const ReadContext& context);

/// The entry as a container's bytes, verified: where they are if they are
/// stored as they are; else decoded, kLimit for too many.
Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const Container& container, uint32_t entry, const ReadContext& context);

}  // namespace ctxfs
