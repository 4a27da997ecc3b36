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
  uint64_t data_offset = 0;  // byte of the file
};

bool HasMagic(Bytes head);

/// Returns the number of bytes of all elements; nullopt from 2^64 on.
std::optional<uint64_t> ElementBytes(const Array& array);

/// Returns the number of bytes before the elements: of magic, version, length
/// and header. `start`: the first 12 bytes of the file, or the whole file if
/// shorter. Fails as ReadArray does.
Result<uint64_t> HeaderBytes(Bytes start);

/// Parses the header of an .npy file as text: nothing in it is evaluated.
/// `start`: the first bytes of the file, at least up to the end of the header,
/// or the whole file if shorter. Fails with kCorrupt or kVersion, and with
/// kUnsupported if the elements are not numbers. The message starts with the
/// reason: version, header, dtype, object or shape.
Result<Array> ReadArray(Bytes start);

/// Returns the error of a file whose `size` bytes disagree with the elements.
Error WrongSize(const Array& array, uint64_t size);

/// Like ReadArray; also fails with WrongSize unless the file, of `size` bytes,
/// ends exactly at the end of the elements.
Result<Array> ReadWholeArray(Bytes start, uint64_t size);

/// Returns the elements of an array, little-endian and row-major. `file`: the
/// whole .npy file; `key`: as for StridedContent.
Content Elements(Key key, const Array& array, const Content& file);

}  // namespace ctxfs::npy
