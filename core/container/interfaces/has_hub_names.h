// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/content/read_context.h"

namespace ctxfs {

/// An array of a model as the hub has it, from which a converter made the array
/// of a container.
struct HubArray {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  /// If not 0, the converter has interleaved the two halves of the rows of each
  /// of so many heads.
  uint64_t heads = 0;
  /// The converter has added it to each element, as float32.
  float added = 0;
};

/// The arrays of a converted model by their names on the hub.
struct NamesOnHub {
  std::string architecture;  // "llama"
  /// The array of which the array `name` was made; nullopt if it is unknown.
  /// `prefix` is what the hub's names begin with (kHubPrefixes).
  std::function<std::optional<HubArray>(std::string_view name,
                                        std::string_view prefix)>
      find;
};

/// What names on the hub begin with: those of a language model, of one in a
/// model that also sees, and of one without a head.
constexpr std::array<std::string_view, 4> kHubPrefixes = {
    "model.", "language_model.model.", "model.language_model.", ""};

/// A container whose model may have been converted from one of the hub. A
/// separate interface, because few formats have names of their own.
class HasHubNames {
 public:
  virtual ~HasHubNames() = default;

  /// Returns the hub's names of the container's arrays; nullopt if they are
  /// unknown. Reads metadata.
  virtual std::optional<NamesOnHub> FindHubNames(
      const ReadContext& context) const = 0;
};

}  // namespace ctxfs
