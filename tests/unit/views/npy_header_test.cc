// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/npy_header.h"

#include <gtest/gtest.h>

#include <string>

namespace ctxfs {
namespace {

/// The dictionary, without what fills up the line.
std::string Dict(const std::string& header) {
  std::string dict = header.substr(10);
  dict.erase(dict.find_last_not_of(" \n") + 1);
  return dict;
}

TEST(NpyHeaderTest, IsByteForByteWhatNumpyWrites) {
  const std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" +
      std::string(58, ' ') + "\n";
  EXPECT_EQ(NpyHeader(DType::kF32, {3, 4}), expected);
  EXPECT_EQ(expected.size(), 128U);
}

TEST(NpyHeaderTest, WritesShapesAsTuples) {
  EXPECT_EQ(Dict(NpyHeader(DType::kBool, {})),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(Dict(NpyHeader(DType::kI8, {7})),
            "{'descr': '|i1', 'fortran_order': False, 'shape': (7,), }");
  EXPECT_EQ(Dict(NpyHeader(DType::kF16, {0, 2, 1})),
            "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 2, 1), }");
}

TEST(NpyHeaderTest, EndsAtAMultipleOf64WhateverTheShape) {
  for (size_t rank = 0; rank <= 32; ++rank) {
    for (uint64_t extent = 1; extent < 4'000'000'000'000'000'000 / 10;
         extent *= 10) {
      const std::string header =
          NpyHeader(DType::kU64, std::vector<uint64_t>(rank, extent));
      ASSERT_EQ(header.size() % 64, 0U) << rank << " " << extent;
      ASSERT_EQ(header.back(), '\n');
      const auto low = static_cast<unsigned char>(header[8]);
      const auto high = static_cast<unsigned char>(header[9]);
      ASSERT_EQ(header.size(), 10U + low + 256U * high);
    }
  }
}

}  // namespace
}  // namespace ctxfs
