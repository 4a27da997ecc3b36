// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/io/source.h"

namespace ctxfs {

/// Replaces a container that does not parse: no entries, the reason in
/// info.json, and the file's bytes. `source` is null if there are none.
std::shared_ptr<const Container> UnreadableContainer(
    std::shared_ptr<const Source> source, Error reason);

/// The reason of such a container; nullopt for one that parses.
std::optional<Error> WhyUnreadable(const Container& container);

}  // namespace ctxfs
