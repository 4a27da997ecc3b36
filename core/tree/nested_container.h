// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Returns whether an entry of a container in `source` is itself a container,
/// by its first bytes (docs/tree.md, section 4). Returns true without reading
/// them if they would have to be decoded and `most` does not allow that.
Result<bool> IsContainerEntry(const Source& source, const FileTable& entries,
                              uint32_t entry, Cost most,
                              const ReadContext& context);

/// Returns the verified bytes of the entry as a Source: a slice of `source` if
/// it is stored plainly, else bytes read through the cache of `context`, which
/// must outlive the result. kLimit for more than limits::kNestedBytes.
Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const std::shared_ptr<const Source>& source, const FileTable& entries,
    uint32_t entry, const ReadContext& context);

}  // namespace ctxfs
