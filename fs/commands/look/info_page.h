// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/json/json.h"
#include "core/container/container.h"
#include "core/report/container_summary.h"
#include "core/report/identity.h"
#include "core/report/index_verdict.h"
#include "core/report/sections/layer_sizes.h"

namespace ctxfs {

/// The sizes of a container's layers and modules.
struct LayerTables {
  SizeGroups layers;
  SizeGroups modules;

  /// Rows of each table that are shown; "(other)" has the rest.
  static constexpr size_t kRows = 1000;

  static LayerTables Of(const Container& container);
};

/// The parts of the description of a container.
struct ContainerDescription {
  std::string path;  // as shown
  std::shared_ptr<const Container> container;
  Json info;  // info.json
  Identity identity;
  ContainerSummary summary;
  IndexVerdict verdict;
  std::optional<LayerTables> layers = std::nullopt;

  static ContainerDescription Of(std::string path,
                                 std::shared_ptr<const Container> container,
                                 bool layers);
};

/// Prints the description of one container for people: what it is and in which
/// state, then the rest. `all`: every warning, not only the first ones.
void PrintInfoPage(const ContainerDescription& one, bool all);

/// Returns the member "summary" of `ctxfs info --json`: the numbers that the
/// page shows, with sizes in bytes.
Json SummaryJson(const ContainerDescription& one);

}  // namespace ctxfs
