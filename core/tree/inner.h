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

/// Returns the entry's bytes as those of a container, after verifying them. An
/// encoded entry is read through the cache of `context`, which must outlive the
/// source; kLimit if it decodes to more than limits::kNestedBytes.
Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const Container& container, uint32_t entry, const ReadContext& context);

}  // namespace ctxfs
