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

/// The contents of a model.safetensors.index.json (docs/formats/safetensors.md,
/// section 8).
struct SafetensorsIndexJson {
  NameList names;                  // of tensors, in the order of the text
  std::vector<uint32_t> file_of;   // each tensor's, in files
  std::vector<std::string> files;  // as they are spelled, each once
  /// Bytes of the text that are the `metadata` object.
  std::optional<SafetensorsHeader::Part> metadata;
};

/// Parses `json`. Fails with kNotContainer if it has no weight_map, up to the
/// first fault; with kCorrupt if it is not a JSON object, if weight_map is not
/// an object of strings, or if a name occurs twice; and with kInterrupted.
Result<SafetensorsIndexJson> ParseSafetensorsIndex(std::string_view json,
                                                   const ReadContext& context);

}  // namespace ctxfs::safetensors
