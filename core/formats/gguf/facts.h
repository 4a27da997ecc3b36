// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/container/facts/facts.h"
#include "core/container/file_table.h"
#include "core/content/read_context.h"
#include "core/formats/gguf/header.h"
#include "core/io/source.h"

namespace ctxfs::gguf {

/// Adds the metadata of a model as facts, known keys first (docs/commands.md,
/// section 5). `tensors` are the model's entries.
Status AddGgufFacts(const Source& source, const GgufHeader& header,
                    const FileTable& tensors, const ReadContext& context,
                    Facts& facts);

}  // namespace ctxfs::gguf
