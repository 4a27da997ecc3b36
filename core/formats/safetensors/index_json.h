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
  NameList names;                  // of tensors, in text order
  std::vector<uint32_t> file_of;   // index in files, by tensor
  std::vector<std::string> files;  // as spelled, each once
  /// Range of the `metadata` object in the text.
  std::optional<SafetensorsHeader::Part> metadata;
};

/// Parses `json`. Fails with kNotContainer if there is no weight_map before the
/// first fault; with kCorrupt if it is not a JSON object, if weight_map is not
/// an object of strings, or if a name occurs twice; and with kInterrupted.
Result<SafetensorsIndexJson> ParseSafetensorsIndex(std::string_view json,
                                                   const ReadContext& context);

}  // namespace ctxfs::safetensors
