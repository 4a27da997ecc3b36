// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"

/// Bounds on what a model may require (docs/formats/onnx.md, section 7).
namespace ctxfs::onnx {

constexpr uint32_t kMostTensors = 1'000'000;
constexpr uint64_t kMostNodes = 16'000'000;
/// Bytes of the paths of all tensors, and dimensions of all of them.
constexpr uint64_t kMostNameBytes = 256 * limits::kMiB;
constexpr uint64_t kMostDims = 16'000'000;
/// Messages in messages, as in protobuf.
constexpr unsigned kMostLevels = 100;
/// Messages that are remembered until their parent has been read: the
/// occurrences of one message, attributes of a node, sparse tensors of a graph.
constexpr size_t kMostRemembered = 1'000'000;
/// Bytes of model.json, and of a doc_string in it.
constexpr uint64_t kMostJson = 64 * limits::kMiB;
constexpr size_t kMostDocString = 64 * limits::kKiB;
/// Bytes of strings in the string tensors of one model: they are read when the
/// model is opened, to find how long they are as JSON.
constexpr uint64_t kMostStringBytes = 64 * limits::kMiB;
/// Bytes of a location of external data.
constexpr size_t kMostLocation = 4096;
/// External files that are kept open.
constexpr size_t kOpenFiles = 8;

}  // namespace ctxfs::onnx
