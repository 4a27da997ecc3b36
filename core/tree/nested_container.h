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

/// Returns the verified bytes of the entry as a Source. For an entry that is
/// stored plainly, this is a slice of `source`. For any other entry, the bytes
/// are read through the cache of `context`, and the cache must outlive the
/// result; such an entry of more than limits::kNestedBytes fails with kLimit.
Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const std::shared_ptr<const Source>& source, const FileTable& entries,
    uint32_t entry, const ReadContext& context);

}  // namespace ctxfs
