// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a model may require (docs/formats/onnx.md, section 7).
namespace ctxfs::onnx {

constexpr uint32_t kMaxTensors = 1'000'000;
constexpr uint64_t kMaxNodes = 16'000'000;
/// Maximum of each of these, separately: bytes of all tensors' paths; of one
/// name; and, for the model's graph and for each function, memory of the names
/// of its operators, and bytes of its subgraphs' prefixes.
constexpr uint64_t kMaxNameBytes = 256 * limits::kMiB;
/// Dimensions of all tensors together.
constexpr uint64_t kMaxDims = 16'000'000;
/// Nesting depth of messages; protobuf has the same limit.
constexpr unsigned kMaxLevels = 100;
/// Ranges of one kind stored while a message is read: the occurrences of a
/// field that should occur once, such as a model's graph (protobuf merges
/// them), or of a repeated one, such as the attributes of a node.
constexpr size_t kMaxRemembered = 1'000'000;
/// Bytes of model.json.
constexpr uint64_t kMaxJson = 64 * limits::kMiB;
/// Bytes of a doc_string in model.json.
constexpr size_t kMaxDocString = 64 * limits::kKiB;
/// Bytes of strings in a model's string tensors: opening the model reads them
/// all to find their length as JSON.
constexpr uint64_t kMaxStringBytes = 64 * limits::kMiB;
constexpr size_t kMaxLocation = 4096;
/// External files that stay open.
constexpr size_t kOpenFiles = 8;

}  // namespace ctxfs::onnx
