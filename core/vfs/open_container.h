// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"

namespace ctxfs {

/// Opens the container file at `path`. The Error of a damaged one also says
/// what `-o salvage` would show.
Result<std::shared_ptr<const Container>> OpenContainerFile(
    const std::string& path, const OpenOptions& options);

}  // namespace ctxfs
