// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs::zip {

/// The header of an .npy file (docs/zip.md, section 11).
struct NpyArray {
  DType dtype = DType::kU8;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t data_offset = 0;  // in bytes from the start of the file
};

/// Returns the bytes of the header of an .npy file. `start` has the first 12
/// bytes of the file, or all of them. Fails as ParseNpy does.
Result<uint64_t> NpyHeaderBytes(Bytes start);

/// Parses the header of an .npy file of `size` bytes; `start` starts with the
/// header. Evaluates nothing. Fails with kCorrupt or kVersion; the message
/// starts with the reason: version, header, dtype, object, shape or size.
Result<NpyArray> ParseNpy(Bytes start, uint64_t size);

/// Returns the elements of an array, little-endian and row-major. `file` is the
/// whole .npy file; `key` is as for StridedContent.
Content NpyElements(Key key, const NpyArray& array, const Content& file);

}  // namespace ctxfs::zip
