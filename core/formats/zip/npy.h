// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs::zip {

/// What the header of an .npy file says (docs/zip.md, section 11).
struct NpyArray {
  DType dtype = DType::kU8;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t data_offset = 0;  // in bytes from the start of the file
};

/// Returns how many bytes of an .npy file its header takes, of which `start`
/// holds the first 12 or all. Fails as ParseNpy.
Result<uint64_t> NpyHeaderBytes(Bytes start);

/// Parses the header, with which `start` begins, of an .npy file of `size`
/// bytes. Nothing is evaluated. Fails with kCorrupt or kVersion; the message
/// starts with the reason: version, header, dtype, object, shape or size.
Result<NpyArray> ParseNpy(Bytes start, uint64_t size);

/// The elements of an array, little-endian and row-major. `file` holds the
/// whole .npy file; `key` as for StridedContent.
Content NpyElements(Key key, const NpyArray& array, const Content& file);

}  // namespace ctxfs::zip
