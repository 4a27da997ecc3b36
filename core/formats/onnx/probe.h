// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/bytes.h"

namespace ctxfs::onnx {

/// Whether a model starts with `head`: its version, and then nothing but fields
/// of a model, up to its graph or the end of `head` (docs/onnx.md, section 2).
bool IsModelHead(Bytes head);

/// Whether `head` starts with the version of a model, so that a walk over all
/// of it can tell.
bool ResemblesModel(Bytes head);

}  // namespace ctxfs::onnx
