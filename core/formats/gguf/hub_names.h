// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/base/request.h"
#include "core/container/interfaces/has_hub_names.h"
#include "core/formats/gguf/header.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Returns the hub's names of the tensors of a model, from its architecture
/// (docs/formats/gguf.md, section 12); nullopt if there is no table for it, or
/// if a llama model lacks the counts of heads.
std::optional<NamesOnHub> GgufHubNames(const Source& source,
                                       const GgufHeader& header,
                                       const Request& request);

}  // namespace ctxfs::gguf
