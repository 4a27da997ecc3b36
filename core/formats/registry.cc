// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/container/foreign_formats.h"
#include "core/container/format.h"

namespace ctxfs {

// A format that is missing here is never mounted. A misspelt name does not
// link.
extern const Format kColumnShard;
extern const Format kCowrie;
extern const Format kCvc;
extern const Format kGemmShard;
extern const Format kGguf;
extern const Format kMcf;
extern const Format kMegaContext;
extern const Format kMem8;
extern const Format kMem8Archive;
extern const Format kModelShard;
extern const Format kOnnx;
extern const Format kSafetensors;
extern const Format kSafetensorsIndex;
extern const Format kSampleShard;
extern const Format kShard;
extern const Format kSjgn;
extern const Format kTar;
extern const Format kTorch;
extern const Format kTraceShard;
extern const Format kWShard;
extern const Format kWShardChunks;
extern const Format kZip;

namespace {

// The first format whose probe accepts a file opens it. Profiles of Shard come
// before Shard itself, which accepts any profile, and formats without a magic
// number last.
constexpr std::array kFormats = {
    &kWShard,      &kWShardChunks, &kModelShard,
    &kSampleShard, &kGemmShard,    &kTraceShard,
    &kColumnShard, &kShard,        &kMcf,
    &kCvc,         &kMem8Archive,  &kMem8,
    &kMegaContext, &kSjgn,         &kCowrie,
    &kGguf,        &kTorch,        &kZip,
    &kTar,         &kSafetensors,  &kSafetensorsIndex,
    &kOnnx};

template <typename Is>
bool AnyFormat(const Is& is) {
  return std::ranges::any_of(
      kFormats, [&is](const Format* format) { return is(*format); });
}

bool Lists(std::string_view extensions, std::string_view wanted) {
  while (!extensions.empty()) {
    const size_t end = std::min(extensions.find(' '), extensions.size());
    if (extensions.substr(0, end) == wanted) return true;
    extensions.remove_prefix(std::min(end + 1, extensions.size()));
  }
  return false;
}

}  // namespace

std::span<const Format* const> Formats() { return kFormats; }

Result<Buffer> ReadHead(const Source& source) {
  return ReadBuffer(source, 0,
                    std::min<uint64_t>(source.size(), limits::kProbeBytes),
                    "header");
}

bool IsContainer(Bytes head) {
  return AnyFormat([&](const Format& format) { return format.probe(head); });
}

bool IsContainerInPlaceOfFile(Bytes head) {
  return AnyFormat([&](const Format& format) {
    return !format.stays_file && format.probe(head);
  });
}

bool IsContainerIfNamed(Bytes head) {
  return AnyFormat([&](const Format& format) {
    return !format.name_suffix.empty() && format.resembles != nullptr &&
           format.resembles(head);
  });
}

bool IsContainerName(std::string_view name) {
  return AnyFormat([&](const Format& format) {
    return !format.name_suffix.empty() && name.ends_with(format.name_suffix);
  });
}

bool HasContainerExtension(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  return AnyFormat([extension = name.substr(dot + 1)](const Format& format) {
    return Lists(format.extensions, extension);
  });
}

bool IsContainerDirectory(const Source& directory) {
  return AnyFormat([&](const Format& format) {
    return format.probe_directory != nullptr &&
           format.probe_directory(directory);
  });
}

bool ResemblesContainer(const Source& directory) {
  return AnyFormat([&](const Format& format) {
    return format.resembles_directory != nullptr &&
           format.resembles_directory(directory);
  });
}

namespace {

Result<std::shared_ptr<const Container>> OpenDirectory(
    std::shared_ptr<const Source> directory, const OpenOptions& options,
    const ReadContext& context) {
  const Format* last = nullptr;
  for (const Format* format : Formats()) {
    if (format->probe_directory == nullptr) continue;
    if (format->probe_directory(*directory)) {
      return format->open(std::move(directory), options, context);
    }
    last = format;
  }
  // No format recognises it. The error of a format that reads directories says
  // what is missing.
  return last->open(std::move(directory), options, context);
}

/// Whether to try to open a file that no probe recognises as this format.
bool Resembles(const Format& format, Bytes head, const Source& source) {
  return (format.resembles != nullptr && format.resembles(head)) ||
         (format.resembles_source != nullptr &&
          format.resembles_source(source));
}

Result<std::shared_ptr<const Container>> OpenRecognised(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  if (source->is_directory()) {
    return OpenDirectory(std::move(source), options, context);
  }
  Result<Buffer> head = ReadHead(*source);
  if (!head) return std::move(head).error();
  for (const Format* format : Formats()) {
    if (format->probe(head->span())) {
      return format->open(std::move(source), options, context);
    }
  }
  std::optional<Error> refusal;  // of the first format that it resembles
  for (const Format* format : Formats()) {
    if (!Resembles(*format, head->span(), *source)) continue;
    Result<std::shared_ptr<const Container>> opened =
        format->open(source, options, context);
    if (opened || opened.error().code != Code::kNotContainer) return opened;
    if (!refusal) refusal = std::move(opened).error();
  }
  // The name of a known foreign format says more than such a refusal.
  if (refusal && RecogniseForeign(head->span()) == nullptr) {
    return *std::move(refusal);
  }
  return Error{Code::kNotContainer, WhyNoContainer(head->span()), 0};
}

}  // namespace

Result<std::shared_ptr<const Container>> OpenContainer(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  Result<std::shared_ptr<const Container>> opened =
      OpenRecognised(source, options, context);
  if (std::optional<Error> shortage = source->Shortage()) {
    return *std::move(shortage);
  }
  return opened;
}

}  // namespace ctxfs
