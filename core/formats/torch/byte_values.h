// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/formats/torch/pickle.h"
#include "core/formats/torch/walk_budget.h"

namespace ctxfs::torch {

/// The bytes of a call of builtins.bytearray or _codecs.encode, by which
/// protocol 2 writes bytes; nullopt for arguments that are not read. The result
/// may point into `scratch`.
std::optional<std::string_view> BytesOfCall(const Pickle& pickle, NodeId call,
                                            WalkBudget& budget,
                                            std::string& scratch);

}  // namespace ctxfs::torch
