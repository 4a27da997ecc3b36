// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/npy_header.h"

#include <string_view>

#include "core/base/bytes.h"

namespace ctxfs {
namespace {

constexpr std::string_view Descr(DType dtype) {
  // numpy has no bfloat16: its bits are stored as u2.
  constexpr std::string_view kDescrs[kDTypeCount] = {
      "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8",
      "<u8", "<f2", "<u2", "<f4", "<f8", {},    "<c8", "<c16"};
  return kDescrs[static_cast<size_t>(dtype)];
}

/// Formats a tuple as Python does: "()", "(3,)", "(3, 4)".
std::string Tuple(const std::vector<uint64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

bool HasNpy(DType dtype) { return !Descr(dtype).empty(); }

std::string NpyHeader(DType dtype, const std::vector<uint64_t>& shape) {
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  constexpr size_t kAlignment = 64;
  // numpy reserves space here, so that the first dimension can grow in place.
  constexpr size_t kGrowth = 21;
  std::string dict = "{'descr': '" + std::string(Descr(dtype)) +
                     "', 'fortran_order': False, 'shape': " + Tuple(shape) +
                     ", }";
  if (!shape.empty()) {
    dict.append(kGrowth - std::to_string(shape[0]).size(), ' ');
  }
  // Like numpy: pads with 1 to 64 spaces; 64 if the header is aligned already.
  const size_t before = kMagic.size() + 2 + dict.size() + 1;
  dict.append(kAlignment - before % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  AppendLe(static_cast<uint16_t>(dict.size()), header);
  return header + dict;
}

}  // namespace ctxfs
