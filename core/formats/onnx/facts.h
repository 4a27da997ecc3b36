// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/container/facts/facts.h"
#include "core/container/file_table.h"

namespace ctxfs::onnx {

/// Adds facts from model.json, whose text is `json`. `tensors` are the entries.
Status AddOnnxFacts(std::string_view json, const FileTable& tensors,
                    const ReadContext& context, Facts& facts);

}  // namespace ctxfs::onnx
