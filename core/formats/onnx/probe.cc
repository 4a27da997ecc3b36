// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/probe.h"

#include <algorithm>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {
namespace {

constexpr uint64_t kGraph = 7;
constexpr uint64_t kNewestVersion = 1000;
constexpr uint64_t kVarint = 0;
constexpr uint64_t kBytes = 2;

/// Fields of ModelProto, by wire type.
bool IsModelField(uint64_t number, uint64_t type) {
  constexpr std::string_view kOfBytes("\2\3\4\6\7\10\16\24\31\32", 10);
  if (type == kVarint) return number == 1 || number == 5;
  return type == kBytes && number < 0x80 &&
         kOfBytes.find(static_cast<char>(number)) != std::string_view::npos;
}

bool IsTextField(uint64_t number) {
  return number == 2 || number == 3 || number == 4 || number == 6;
}

/// Whether `text`, the end of which may be cut off, has only characters that
/// people write. Messages of other formats have lengths and tags in its place.
bool IsPlainText(std::string_view text) {
  const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' &&
           c != '\r';
  });
  if (!plain) return false;
  for (size_t cut = 0; cut < 4 && cut <= text.size(); ++cut) {
    if (IsUtf8(text.substr(0, text.size() - cut))) return true;
  }
  return false;
}

bool ReadVersion(ByteReader& in) {
  constexpr uint8_t kTag = 1 << 3;
  if (in.U8() != kTag) return false;
  const uint64_t version = in.Uvarint();
  return in.ok() && version >= 1 && version <= kNewestVersion;
}

}  // namespace

bool ResemblesModel(Bytes head) {
  ByteReader in(head);
  return ReadVersion(in);
}

bool IsModelHead(Bytes head) {
  ByteReader in(head);
  if (!ReadVersion(in)) return false;
  const bool is_all = head.size() < limits::kProbeBytes;
  while (in.remaining() > 0) {
    // A number that cannot be read is wrong, or cut off by the end of `head`.
    const bool may_be_cut = !is_all && in.remaining() < kLongestVarint;
    const uint64_t tag = in.Uvarint();
    if (!in.ok()) return may_be_cut;
    if (!IsModelField(tag >> 3, tag & 7U)) return false;
    if (tag >> 3 == kGraph) return true;
    const bool value_may_be_cut = !is_all && in.remaining() < kLongestVarint;
    const uint64_t value = in.Uvarint();
    if (!in.ok()) return value_may_be_cut;
    if ((tag & 7U) == kVarint) continue;
    const uint64_t here = std::min(value, in.remaining());
    const Bytes bytes = in.Take(here);
    if (IsTextField(tag >> 3) && !IsPlainText(AsText(bytes))) return false;
    if (here < value) return !is_all;
  }
  return !is_all;
}

}  // namespace ctxfs::onnx
