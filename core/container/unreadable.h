// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/io/source.h"

namespace ctxfs {

/// Returns a substitute for a container that does not parse. It has no entries.
/// Its tree shows the reason in info.json, and the file's bytes. `source` is
/// null if there are no bytes.
std::shared_ptr<const Container> UnreadableContainer(
    std::shared_ptr<const Source> source, Error reason);

/// Returns `reason` if UnreadableContainer made `container`; nullopt for any
/// other container.
std::optional<Error> WhyUnreadable(const Container& container);

}  // namespace ctxfs
