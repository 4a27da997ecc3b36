// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Maximum number of vectors that are projected. If there are too many vectors
/// to read all, a sample of this number is read.
constexpr uint64_t kProjectedVectors = 20'000;

/// Whether a usual array is a collection of vectors: float64, or numbers of at
/// most 32 bits, of shape [N,D] with N and D at least 1, and D at most 2^20.
bool IsVectors(const ArrayInfo& array);

/// Bytes that VectorSummary reads of the array: all if there are at most
/// 1,000,000 vectors of at most `most_bytes` bytes in total, else
/// kProjectedVectors evenly spread ones.
uint64_t VectorBytes(const ArrayInfo& array, uint64_t most_bytes);

/// Norms, duplicates and a projection of the vectors that VectorBytes counts:
/// {"name", "dtype", "shape", "elements": N, "read", "zeros": number of norms
/// 0, "infinite": number of vectors with a NaN, an infinity or a value beyond
/// float32; "min", "max", "mean", "low", "high", "bins" of the norms;
/// "repeated": number of vectors equal to an earlier one (by SHA-256),
/// "repeats": [[number of the first, number of its repeats]], the 10 most
/// repeated; "projected", "points": [[x, y]] and "explained", unless nothing
/// can be projected (ProjectRows)}. Uses at most 64 MiB for the projection and
/// 40 bytes per vector.
Result<Json> VectorSummary(const ArrayInfo& array, uint64_t most_bytes,
                           const ReadContext& context);

}  // namespace ctxfs
