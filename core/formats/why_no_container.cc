// SPDX-License-Identifier: Apache-2.0
//
// Explains why no format opens a file, compressed files included.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/codec/deflate.h"
#include "core/compressed/compression.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/container/foreign/foreign_probes.h"
#include "core/container/format.h"

namespace ctxfs {
namespace {

/// Decodes the start of a compressed file, at most as many bytes as probes see.
/// If `source` is null or cannot be read, decodes `head`.
std::string DecodedHead(Bytes head, const Source* source,
                        const Request& request) {
  Result<Buffer> read = Buffer();
  if (source != nullptr) {
    read = ReadBuffer(*source, 0, std::min(source->size(), kHeadOfCompressed),
                      "start", request);
  }
  const Bytes start = source != nullptr && read ? Bytes(read->span()) : head;
  std::array<std::byte, limits::kProbeBytes> out{};
  size_t size = 0;
  if (foreign::IsZlib(start, nullptr, request)) {
    constexpr size_t kZlibHeader = 2;
    size = DecodeDeflatePrefix(start.subspan(kZlibHeader), out);
  } else {
    size = DecodeHead(start, out);
  }
  return std::string(AsText(Bytes(out).first(size)));
}

/// Returns "a safetensors file", "an onnx file", "a tar".
std::string WithArticle(std::string_view format) {
  const bool vowel =
      std::string_view("aeio").find(format[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(format) +
         (format == "tar" ? "" : " file");
}

/// Returns "text" or "JSON text"; empty if it is neither.
std::string TextKind(Bytes head) {
  if (head.empty() || !LooksLikeText(head)) return "";
  const bool json = head[0] == std::byte{'{'} || head[0] == std::byte{'['};
  return json ? "JSON text" : "text";
}

/// Returns the kind of a file, such as "an onnx file" or "JSON text"; empty if
/// unknown.
std::string KindOf(Bytes head) {
  for (const Format* const format : Formats()) {
    if (format->probe(head)) return WithArticle(format->name);
  }
  if (const ForeignFormat* const foreign = RecogniseForeign(head)) {
    return std::string(foreign->name);
  }
  return TextKind(head);
}

/// The contents of a compressed file, as far as known.
struct Contents {
  std::string kind;         // such as "a tar"; empty if unknown
  std::string_view advice;  // empty: use that of the compressed file
};

Contents ContentsOf(Bytes head, const Source* source, const Request& request) {
  const std::string inside = DecodedHead(head, source, request);
  if (inside.empty()) return {};
  const ForeignFormat* const foreign = RecogniseForeign(AsBytes(inside));
  std::string kind = KindOf(AsBytes(inside));
  const bool runs_code = foreign != nullptr && foreign->advice == kRunsCode;
  return {std::move(kind), runs_code ? kRunsCode : ""};
}

}  // namespace

std::string WhyNoContainer(Bytes head, const Source* source,
                           const Request& request) {
  const std::string reason = "not a container of a known format";
  if (head.empty()) return "not a container: the file is empty";
  if (const ForeignFormat* const foreign =
          RecogniseForeign(head, source, request)) {
    const Contents inside = ContentsOf(head, source, request);
    return reason + ": it is " + std::string(foreign->name) +
           (inside.kind.empty() ? "" : " with " + inside.kind + " inside") +
           "; " +
           std::string(inside.advice.empty() ? foreign->advice : inside.advice);
  }
  if (std::all_of(head.begin(), head.end(),
                  [](std::byte b) { return b == std::byte{0}; })) {
    return reason +
           ": it starts with zeros, as files do whose writer has not finished";
  }
  const std::string text = TextKind(head);
  return text.empty() ? reason : reason + ": it is " + text;
}

}  // namespace ctxfs
