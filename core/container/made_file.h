// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/container/container.h"
#include "core/content/block.h"

namespace ctxfs {

/// Makes the text of a file, or says why it cannot.
using MakeText = std::function<Result<std::string>()>;

/// A file at `path` whose text is made when someone looks it up, and kept by
/// the cache under `key` for as long as that has room. `source` is what it is
/// made from.
OwnFile MadeFile(std::string path, Key key,
                 std::shared_ptr<const Source> source, MakeText make);

/// A file that cannot be read: of size 0, and opening it fails with `why`.
OwnFile RefusedFile(std::string path, Error why);

}  // namespace ctxfs
