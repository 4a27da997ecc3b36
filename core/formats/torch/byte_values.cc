// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/byte_values.h"

#include "core/formats/torch/objects.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

/// Converts UTF-8 text to Latin-1. Returns false if a character has no place in
/// it.
bool EncodeLatin1(std::string_view text, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
    } else if ((first == 0xC2 || first == 0xC3) && i + 1 < text.size()) {
      const auto second = static_cast<unsigned char>(text[++i]);
      bytes += static_cast<char>((first & 3U) << 6 | (second & 0x3FU));
    } else {
      return false;
    }
  }
  return true;
}

/// The bytes of a call's arguments (text, "latin1").
std::optional<std::string_view> EncodedText(const Pickle& pickle, NodeId call,
                                            WalkBudget& budget,
                                            std::string& scratch) {
  const NodeId text = Argument(pickle, call, 0);
  const NodeId codec = Argument(pickle, call, 1);
  if (!pickle.Is(text, Kind::kText) ||
      (!pickle.IsText(codec, "latin1") && !pickle.IsText(codec, "latin-1"))) {
    return std::nullopt;
  }
  budget.SpendOnText(pickle.Text(text).size());
  if (!EncodeLatin1(pickle.Text(text), scratch)) return std::nullopt;
  return scratch;
}

}  // namespace

std::optional<std::string_view> BytesOfCall(const Pickle& pickle, NodeId call,
                                            WalkBudget& budget,
                                            std::string& scratch) {
  if (CalleeName(pickle, call) == "_codecs.encode") {
    return EncodedText(pickle, call, budget, scratch);
  }
  const NodeId content = Argument(pickle, call, 0);
  if (content == kNoNode) return "";
  if (pickle.Is(content, Kind::kBytes)) return pickle.Text(content);
  const bool encoded = CalleeName(pickle, content) == "_codecs.encode";
  return EncodedText(pickle, encoded ? content : call, budget, scratch);
}

}  // namespace ctxfs::torch
