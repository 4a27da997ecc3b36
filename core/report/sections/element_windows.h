// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Reads an array in windows of elements converted to float64. Not thread-safe.
class ElementWindows {
 public:
  /// Opens a usual array (IsUsual) whose dtype HasStatistics. Verifies an array
  /// without elements.
  static Result<ElementWindows> Open(const ArrayInfo& array,
                                     const ReadContext& context);

  /// Returns elements [first, first + count), valid until the next call.
  Result<std::span<const double>> At(uint64_t first, size_t count,
                                     const ReadContext& context);

  /// The elements of the last At as they are stored.
  Bytes stored() const { return {bytes_.data(), bytes_.size()}; }

 private:
  ElementWindows(DType dtype, Content elements)
      : dtype_(dtype), elements_(std::move(elements)) {}

  DType dtype_;
  Content elements_;
  std::vector<std::byte> bytes_;
  std::vector<double> values_;
};

}  // namespace ctxfs
