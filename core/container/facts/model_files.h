// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/container/exports.h"
#include "core/io/source.h"

namespace ctxfs {

// Files of a model that from_pretrained reads, by name.

/// The role of the file `name`; nullopt if loaders do not read it.
std::optional<DocumentRole> ModelFileRole(std::string_view name);

/// The name of the file of a role; empty if loaders do not read it.
std::string_view ModelFileName(DocumentRole role);

/// Opens the files of the model in the folder of `container`. Omits files that
/// cannot be opened and files of more than 1 GiB. Returns none if config.json
/// is missing or omitted, because no loader works without that file.
std::vector<Document> FindModelFiles(const Source& container,
                                     const Request& request);

}  // namespace ctxfs
