// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::torch {

/// A text of a pickle, of protocol 2.
inline std::string Text(const std::string& text) {
  return "X" + Le(text.size(), 4) + text;
}

/// A call of posix.system, without the end of its pickle.
inline std::string Evil() {
  return "cposix\nsystem\n" + Text("touch x") + "\x85R";
}

/// The call that makes a tensor of 64 dims, noted as 5 in the memo, with its
/// parts: callable 0, storage 1, offset 2, shape 3, strides 4.
inline std::string NotedTensor(const std::string& key) {
  std::string sizes = "(";
  for (int i = 0; i < 64; ++i) sizes += "K\x01";
  sizes += "t";
  const std::string pop = "0";
  return "ctorch._utils\n_rebuild_tensor_v2\n" + std::string("q\0", 2) + pop +
         "(" + Text("storage") + "ctorch\nFloatStorage\n" + Text(key) +
         Text("cpu") + "K\x01tQq\x01" + pop + std::string("K\0q\x02", 4) + pop +
         sizes + "q\x03" + pop + sizes + "q\x04" + pop;
}

/// A list of `count` tensors. `noted`: of one that is there again and again, or
/// of as many calls with the same parts.
inline std::string ManyTensors(size_t count, bool noted,
                               const std::string& key) {
  const std::string zero = std::string("h\0", 2);
  const std::string made = zero + "(h\x01h\x02h\x03h\x04tR";
  std::string text = NotedTensor(key) + "](";
  if (noted) text += made + "q\x05";
  for (size_t i = noted ? 1 : 0; i < count; ++i) {
    text += noted ? "h\x05" : made;
  }
  return text + "e.";
}

}  // namespace ctxfs::torch
