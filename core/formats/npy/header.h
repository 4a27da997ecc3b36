// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs::npy {

/// The header of an .npy file (docs/formats/npy.md).
struct Array {
  DType dtype = DType::kU8;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t data_offset = 0;  // in bytes from the start of the file
};

/// Whether a file that starts with `head` is an .npy file.
bool HasMagic(Bytes head);

/// Bytes of all elements of an array; nullopt if they are more than 2^64.
std::optional<uint64_t> ElementBytes(const Array& array);

/// Returns the bytes of the header of an .npy file. `start` has the first 12
/// bytes of the file, or all of them. Fails as ReadArray does.
Result<uint64_t> HeaderBytes(Bytes start);

/// Parses the header of an .npy file that starts with `start`. Evaluates
/// nothing. Fails with kCorrupt, with kVersion, or with kUnsupported for
/// elements that are no numbers; the message starts with the reason: version,
/// header, dtype, object or shape.
Result<Array> ReadArray(Bytes start);

/// The error of a file of `size` bytes that has not the bytes of the elements.
Error WrongSize(const Array& array, uint64_t size);

/// Like ReadArray; also fails with WrongSize if a file of `size` bytes does not
/// end exactly where the elements do.
Result<Array> ReadWholeArray(Bytes start, uint64_t size);

/// Returns the elements of an array, little-endian and row-major. `file` is the
/// whole .npy file; `key` is as for StridedContent.
Content Elements(Key key, const Array& array, const Content& file);

}  // namespace ctxfs::npy
