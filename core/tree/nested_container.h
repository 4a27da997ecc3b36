// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Whether an entry of a container in `source` is a container itself, by its
/// first bytes (docs/tree.md, section 4). An entry that would have to be
/// decoded is believed if that costs more than `most`.
Result<bool> IsContainerEntry(const Source& source, const FileTable& entries,
                              uint32_t entry, Cost most,
                              const ReadContext& context);

/// The entry as the bytes of a container, verified: a slice of `source` if it
/// is stored plain; else read through the cache of `context`, which must
/// outlive the result, and kLimit for more than limits::kNestedBytes.
Result<std::shared_ptr<const Source>> OpenContainerEntry(
    const std::shared_ptr<const Source>& source, const FileTable& entries,
    uint32_t entry, const ReadContext& context);

}  // namespace ctxfs
