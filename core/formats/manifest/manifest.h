// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/io/source.h"

namespace ctxfs::manifest {

/// Opens a Shard of role 4 as a manifest of form A (docs/formats/manifest.md):
/// its metadata lists files. Without such a list, the container is an archive
/// of its entries.
Result<std::shared_ptr<const Container>> OpenManifest(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context);

}  // namespace ctxfs::manifest
