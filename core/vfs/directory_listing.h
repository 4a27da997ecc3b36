// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/vfs/listing.h"
#include "core/vfs/resolver.h"

namespace ctxfs {

/// The files of one or two sources in a directory. A name of the first source
/// hides the same name of the second.
class DirectoryListing final : public Listing {
 public:
  DirectoryListing(const Resolver& resolver, const InodeRef& directory,
                   std::vector<Resolver::Place> layers)
      : resolver_(resolver), directory_(directory) {
    Show(std::move(layers));
  }

  /// Renews a container whose ctime has changed, since listing may read it to
  /// find out whether a file exists. If more than its ctime has changed, the
  /// renewal fails, and names that may have no file are listed unexamined.
  Status Rewind(const ReadContext& context) override {
    if (!layers_.back().place.source->CheckUnchanged()) {
      auto now = resolver_.Layers(directory_, /*fresh=*/true, context);
      if (now) Show(std::move(*now));
    }
    for (const Layer& layer : layers_) {
      if (Status told = layer.names->Rewind(context); !told) return told;
    }
    return {};
  }

  uint64_t count() const override {
    uint64_t count = 0;
    for (const Layer& layer : layers_) count += layer.names->count();
    return count;
  }

  std::optional<Name> At(uint64_t index, bool attributes,
                         const ReadContext& context) const override {
    // Adds no attributes to names that may change, because the kernel would
    // cache them.
    attributes = attributes && immutable();
    const Listing& first = *layers_.front().names;
    const uint64_t before = first.count();
    if (index < before) return first.At(index, attributes, context);
    std::optional<Name> name =
        layers_.back().names->At(index - before, attributes, context);
    if (name && before > 0 && first.Has(name->name, context)) {
      return std::nullopt;
    }
    return name;
  }

  bool immutable() const override { return layers_.front().names->immutable(); }

 private:
  struct Layer {
    Resolver::Place place;
    std::unique_ptr<Listing> names;
  };

  void Show(std::vector<Resolver::Place> places) {
    layers_.clear();
    for (Resolver::Place& place : places) {
      std::unique_ptr<Listing> names = place.source->List(place.node);
      layers_.push_back({std::move(place), std::move(names)});
    }
  }

  const Resolver& resolver_;
  const InodeRef directory_;
  std::vector<Layer> layers_;  // one or two
};

}  // namespace ctxfs
