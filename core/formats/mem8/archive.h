// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/io/source.h"

namespace ctxfs::mem8 {

/// Opens the .m8a archive `file`, which is `source` itself or the bytes
/// decompressed from it (docs/formats/mem8.md, section 7).
Result<std::shared_ptr<const Container>> OpenMem8Archive(
    std::shared_ptr<const Source> source, std::shared_ptr<const Source> file,
    const OpenOptions& options, const ReadContext& context);

}  // namespace ctxfs::mem8
