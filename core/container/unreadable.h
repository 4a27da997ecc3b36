// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/io/source.h"

namespace ctxfs {

/// Returns a substitute for a container that does not parse. It has no entries,
/// shows the reason in info.json, and shows the file's bytes. `source` is null
/// if there are no bytes.
std::shared_ptr<const Container> UnreadableContainer(
    std::shared_ptr<const Source> source, Error reason);

/// The reason of such a container; nullopt for one that parses.
std::optional<Error> WhyUnreadable(const Container& container);

}  // namespace ctxfs
