// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/safetensors/header.h"

namespace ctxfs::safetensors {

/// The contents of a model.safetensors.index.json (docs/safetensors.md, section
/// 8).
struct SafetensorsIndexJson {
  struct Tensor {
    uint32_t name_at = 0;  // in names
    uint32_t name_length = 0;
    uint32_t file = 0;  // in files
  };

  std::string names;
  std::vector<Tensor> tensors;     // in the order of the text
  std::vector<std::string> files;  // as they are spelled, each once
  std::vector<uint32_t> by_name;   // numbers of tensors, sorted
  /// Bytes of the text that are the `metadata` object.
  std::optional<SafetensorsHeader::Part> metadata;

  std::string_view Name(uint32_t tensor) const {
    return std::string_view(names).substr(tensors[tensor].name_at,
                                          tensors[tensor].name_length);
  }
  std::optional<uint32_t> Find(std::string_view name) const;
};

/// Parses `json`. Fails with kNotContainer if it has no weight_map, up to the
/// first fault; with kCorrupt if it is not a JSON object, if weight_map is not
/// an object of strings, or if a name occurs twice; and with kInterrupted.
Result<SafetensorsIndexJson> ParseSafetensorsIndex(std::string_view json,
                                                   const ReadContext& context);

}  // namespace ctxfs::safetensors
