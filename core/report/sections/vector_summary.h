// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Vectors that are projected, and read if there are too many to read all.
constexpr uint64_t kProjectedVectors = 20'000;

/// Whether a usual array is a collection of vectors: numbers of at most 32
/// bits, or float64, of shape [N,D] with N and D at least 1.
bool IsVectors(const ArrayInfo& array);

/// Bytes of the vectors of such an array that VectorSummary reads: all of at
/// most 1,000,000 vectors if they are at most `most_bytes`, otherwise those of
/// kProjectedVectors, spread evenly.
uint64_t VectorBytes(const ArrayInfo& array, uint64_t most_bytes);

/// Norms, duplicates and a projection of the vectors that VectorBytes counts:
/// {"name", "dtype", "shape", "elements": N, "read", "zeros": of norm 0,
/// "infinite": with a NaN or an infinity, or too large for float32; of the
/// norms "min", "max", "mean", "low", "high", "bins"; "repeated": those that
/// have the values of an earlier one (by SHA-256), "repeats": [[number of the
/// first, how many are like it]], the 10 that repeat most; "projected",
/// "points":
/// [[x, y]] and "explained", unless there is nothing to project (ProjectRows)}.
/// Takes at most 64 MiB for the projection and 40 bytes a vector.
Result<Json> VectorSummary(const ArrayInfo& array, uint64_t most_bytes,
                           const ReadContext& context);

}  // namespace ctxfs
