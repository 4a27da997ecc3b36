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

/// An array of a model on the hub that a converter changed into an array of a
/// container.
struct HubArray {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  /// The number of heads; in each head the converter interleaved the two halves
  /// of the rows. 0: it did not.
  uint64_t heads = 0;
  /// The number that the converter added to each element, as float32.
  float added = 0;
};

/// The arrays of a converted model by their names on the hub.
struct NamesOnHub {
  std::string architecture;  // "llama"
  /// Returns the hub's array from which the array `name` was converted; nullopt
  /// if it is unknown. `prefix` is the first part of the hub's names
  /// (kHubPrefixes).
  std::function<std::optional<HubArray>(std::string_view name,
                                        std::string_view prefix)>
      find;
};

/// First parts of names on the hub: of a language model, of the language model
/// in a multimodal model (two forms), and of a model without a head.
constexpr std::array<std::string_view, 4> kHubPrefixes = {
    "model.", "language_model.model.", "model.language_model.", ""};

/// A container whose model may have been converted from a model on the hub. A
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
