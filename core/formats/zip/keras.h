// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/container/facts/facts.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {

/// Members that every .keras file has. The weights are an HDF5 file.
struct KerasMembers {
  uint32_t config;
  uint32_t metadata;
};

/// Returns the members of a .keras file; nullopt if `archive` is none.
std::optional<KerasMembers> FindKerasMembers(const Archive& archive);

/// Adds class and name of the model, and the version of Keras.
Status AddKerasFacts(const Archive& archive, const KerasMembers& members,
                     const ReadContext& context, Facts& facts);

}  // namespace ctxfs::zip
