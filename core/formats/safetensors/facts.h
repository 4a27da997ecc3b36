// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/json/json.h"
#include "core/container/exports.h"
#include "core/container/facts/facts.h"
#include "core/io/source.h"

namespace ctxfs::safetensors {

/// Adds facts from `metadata` and from other files of the model
/// (docs/commands.md, section 5). `source` is the container's file, and
/// `tensors` are its entries.
Status AddSafetensorsFacts(const Source& source, const Json& metadata,
                           const std::vector<Document>& documents,
                           const FileTable& tensors, const ReadContext& context,
                           Facts& facts);

}  // namespace ctxfs::safetensors
