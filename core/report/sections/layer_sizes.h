// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/json/json.h"

namespace ctxfs {

/// Returns the layer of a model, or group of lanes, of an entry: the part of
/// its name up to the first number between dots and slashes ("model.layers.3"
/// of "model.layers.3.mlp.weight"), else all but the last component ("signal"
/// of "signal/rgb"), else the name.
std::string_view LayerOf(std::string_view name);

/// Bytes of the entries of each layer.
class LayerSizes {
 public:
  /// Counts an entry of `bytes` decoded bytes.
  void Add(std::string_view name, uint64_t bytes);

  /// [[layer, bytes, entries]]: the `most` largest layers, in the order of
  /// their first entries, then "(other)" for the rest.
  Json Largest(size_t most) const;

 private:
  struct Layer {
    size_t order = 0;
    uint64_t bytes = 0;
    uint64_t entries = 0;
  };

  std::map<std::string, Layer, std::less<>> layers_;
  Layer other_;  // entries beyond the maximum of layers
};

}  // namespace ctxfs
