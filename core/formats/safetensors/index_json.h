// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/container/facts/name_list.h"
#include "core/content/read_context.h"
#include "core/formats/safetensors/header.h"

namespace ctxfs::safetensors {

/// A parsed model.safetensors.index.json (docs/formats/safetensors.md, section
/// 8).
struct SafetensorsIndexJson {
  NameList names;                  // of tensors, in the order of the text
  std::vector<uint32_t> file_of;   // index in files, by tensor
  std::vector<std::string> files;  // as spelled, each once
  /// Range of the `metadata` object in the text.
  std::optional<SafetensorsHeader::Part> metadata;
};

/// Parses `json`. Fails with kNotContainer if there is no weight_map, or a
/// fault before it, such as text that is not a JSON object. Fails with kCorrupt
/// for later faults: malformed JSON, a weight_map that is not an object of
/// strings, or a name, weight_map or metadata that occurs twice. Also fails
/// with kInterrupted.
Result<SafetensorsIndexJson> ParseSafetensorsIndex(std::string_view json,
                                                   const ReadContext& context);

}  // namespace ctxfs::safetensors
