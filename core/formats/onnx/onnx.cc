// SPDX-License-Identifier: Apache-2.0
//
// Registers the format: recognises and opens models.
#include <algorithm>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/open.h"
#include "core/formats/onnx/model.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {
namespace {

constexpr uint64_t kGraph = 7;
constexpr uint64_t kNewestVersion = 1000;

bool IsTextField(uint64_t number) {
  return number == 2 || number == 3 || number == 4 || number == 6;
}

/// Whether `text`, possibly truncated, is UTF-8 without control characters
/// other than white space. Files of other protobuf formats often have lengths
/// and tags at these positions.
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

/// Whether `head` starts with a version, like a model. Only a walk of the whole
/// file can then decide.
bool ResemblesModel(Bytes head) {
  ByteReader in(head);
  return ReadVersion(in);
}

/// Whether `head` starts a model: its version, then only fields of a model, up
/// to its graph or the end of `head` (docs/formats/onnx.md, section 2).
bool IsModelHead(Bytes head) {
  ByteReader in(head);
  if (!ReadVersion(in)) return false;
  const bool is_all = head.size() < limits::kProbeBytes;
  while (in.remaining() > 0) {
    // A number that cannot be read is malformed, or is cut off by the end of
    // `head`.
    const bool may_be_cut = !is_all && in.remaining() < kLongestVarint;
    const uint64_t tag = in.Uvarint();
    if (!in.ok()) return may_be_cut;
    const auto type = static_cast<WireType>(tag & 7U);
    if (!IsModelField(tag >> 3, type)) return false;
    if (tag >> 3 == kGraph) return true;
    const bool value_may_be_cut = !is_all && in.remaining() < kLongestVarint;
    const uint64_t value = in.Uvarint();
    if (!in.ok()) return value_may_be_cut;
    if (type == WireType::kVarint) continue;
    const uint64_t here = std::min(value, in.remaining());
    const Bytes bytes = in.Take(here);
    if (IsTextField(tag >> 3) && !IsPlainText(AsText(bytes))) return false;
    if (here < value) return !is_all;
  }
  return !is_all;
}

Result<std::shared_ptr<const Container>> OpenModel(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadHead(*source, context));
  if (!ResemblesModel(head.span())) {
    return Error{Code::kNotContainer,
                 "no_magic: not a model of ONNX: it does not start with a "
                 "version",
                 0};
  }
  return OpenAs<Model>(std::move(source), options, context);
}

}  // namespace
}  // namespace ctxfs::onnx

namespace ctxfs {

extern const Format kOnnx{
    .name = "onnx",
    .contents = "models as graphs of operators",
    .extensions = "onnx",
    .golden = "onnx",
    .docs = "onnx",
    .probe = &onnx::IsModelHead,
    .open = &onnx::OpenModel,
    .resembles = &onnx::ResemblesModel,
    .traits = {.stays_file = true, .opens_neighbours = true}};

}  // namespace ctxfs
