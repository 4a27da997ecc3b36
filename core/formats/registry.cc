// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/compressed/compressed_source.h"
#include "core/compressed/compression.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/container/format.h"

namespace ctxfs {

// All formats, in the order in which they probe a file. The first whose probe
// accepts the file opens it. If opening fails with kNotContainer, the next one
// is tried. Profiles of Shard precede Shard, which accepts any profile; formats
// without a magic number are among the last. Only formats listed here exist. A
// misspelt name does not link.
#define CTXFS_FORMATS(FORMAT) \
  FORMAT(kWShard)             \
  FORMAT(kWShardChunks)       \
  FORMAT(kModelShard)         \
  FORMAT(kSampleShard)        \
  FORMAT(kGemmShard)          \
  FORMAT(kTraceShard)         \
  FORMAT(kColumnShard)        \
  FORMAT(kVectorIndex)        \
  FORMAT(kShard)              \
  FORMAT(kMcf)                \
  FORMAT(kCvc)                \
  FORMAT(kMem8Archive)        \
  FORMAT(kMem8)               \
  FORMAT(kMds)                \
  FORMAT(kMegaContext)        \
  FORMAT(kSjgn)               \
  FORMAT(kCowrie)             \
  FORMAT(kCowrieStream)       \
  FORMAT(kGguf)               \
  FORMAT(kTorch)              \
  FORMAT(kTorchDistributed)   \
  FORMAT(kZip)                \
  FORMAT(kTar)                \
  FORMAT(kMcap)               \
  FORMAT(kNpy)                \
  FORMAT(kSafetensors)        \
  FORMAT(kSafetensorsIndex)   \
  FORMAT(kZarr)               \
  FORMAT(kOnnx)               \
  FORMAT(kTfRecord)

#define CTXFS_DECLARE(name) extern const Format name;
CTXFS_FORMATS(CTXFS_DECLARE)
#undef CTXFS_DECLARE

namespace {

#define CTXFS_POINTER(name) &name,
constexpr std::array kFormats = {CTXFS_FORMATS(CTXFS_POINTER)};
#undef CTXFS_POINTER

/// Returns the format whose probe accepts `head`, or null.
const Format* FormatOf(Bytes head) {
  const auto found = std::ranges::find_if(
      kFormats, [head](const Format* format) { return format->probe(head); });
  return found == kFormats.end() ? nullptr : *found;
}

template <typename Is>
bool AnyFormat(const Is& is) {
  return std::ranges::any_of(
      kFormats, [&is](const Format* format) { return is(*format); });
}

/// Whether `wanted` is one of the words of `extensions`, which are separated by
/// blanks (WordsOf).
bool Lists(std::string_view extensions, std::string_view wanted) {
  while (!extensions.empty()) {
    const size_t end = std::min(extensions.find(' '), extensions.size());
    if (end > 0 && extensions.substr(0, end) == wanted) return true;
    extensions.remove_prefix(std::min(end + 1, extensions.size()));
  }
  return false;
}

}  // namespace

std::span<const Format* const> Formats() { return kFormats; }

std::vector<std::string_view> WordsOf(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    if (end > 0) words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

namespace {

/// Returns the extensions of all formats without the trait, sorted.
std::vector<std::string_view> ExtensionsWithout(bool Traits::*trait) {
  std::vector<std::string_view> all;
  for (const Format* format : kFormats) {
    if (format->traits.*trait) continue;
    for (const std::string_view one : WordsOf(format->extensions)) {
      all.push_back(one);
    }
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

namespace {

/// Returns the format of the decoded bytes of a compressed file that starts
/// with `stored`. Null if the file is not compressed, if no format accepts
/// these bytes, or if their format reads the compressed file itself
/// (Traits::zstd_is_own).
const Format* FormatInside(Bytes stored) {
  const Compression compression = CompressionOf(stored);
  if (compression == Compression::kNone) return nullptr;
  std::array<std::byte, limits::kProbeBytes> head{};
  const size_t size = DecodeHead(stored, head);
  const Format* const format = FormatOf(Bytes(head).first(size));
  const bool reads_it = format != nullptr && format->traits.zstd_is_own &&
                        compression == Compression::kZstd;
  return reads_it ? nullptr : format;
}

/// Whether `name` names a compressed container, such as "a.tar.gz".
bool IsCompressedContainerName(std::string_view name) {
  const PlainName plain = WithoutCompression(name);
  if (plain.stem.empty()) return false;
  if (!plain.suffix.empty()) return true;
  const NameClaim claim = ClaimOf(plain.stem);
  return claim != NameClaim::kNothing;
}

}  // namespace

bool IsContainer(Bytes head) {
  return FormatOf(head) != nullptr || FormatInside(head) != nullptr;
}

bool IsContainerInPlaceOfFile(Bytes head) {
  return AnyFormat([&](const Format& format) {
    return !format.traits.stays_file && format.probe(head);
  });
}

bool IsContainerIfNamed(Bytes head) {
  if (CompressionOf(head) != Compression::kNone) {
    // The head can be too short to decode, because bzip2 and zstd decode only
    // whole blocks.
    std::array<std::byte, limits::kProbeBytes> start{};
    return DecodeHead(head, start) < start.size();
  }
  return AnyFormat([&](const Format& format) {
    return !format.name_suffix.empty() && format.resembles != nullptr &&
           format.resembles(head);
  });
}

bool IsContainerName(std::string_view name) {
  return IsCompressedContainerName(name) ||
         AnyFormat([&](const Format& format) {
           return !format.name_suffix.empty() &&
                  name.ends_with(format.name_suffix);
         });
}

const Format* FormatOfPart(std::string_view name) {
  const auto found = std::ranges::find_if(kFormats, [&](const Format* format) {
    return !format->folder_parts.empty() &&
           name.ends_with(format->folder_parts);
  });
  return found == kFormats.end() ? nullptr : *found;
}

bool HasContainerExtension(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  // Built once: every name in a container is looked up here. Walking the
  // formats' lists took a fifth of the instructions for opening 200,000
  // entries.
  static const std::vector<std::string_view> all =
      ExtensionsWithout(&Traits::leaf);
  return std::ranges::binary_search(all, name.substr(dot + 1));
}

namespace {

/// Returns the part after the last dot, in lower case.
std::string ExtensionOf(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::string extension(name.substr(dot + 1));
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return extension;
}

}  // namespace

bool MayReplaceFile(std::string_view name) {
  // Built once: a directory may have a million names.
  static const std::vector<std::string_view> all =
      ExtensionsWithout(&Traits::stays_file);
  return std::ranges::binary_search(all, ExtensionOf(name));
}

bool NamesIndexAtEnd(std::string_view name) {
  const std::string extension = ExtensionOf(name);
  return AnyFormat([&](const Format& format) {
    return format.traits.index_at_end && Lists(format.extensions, extension);
  });
}

NameClaim ClaimOf(std::string_view name) {
  if (IsContainerName(name)) return NameClaim::kContainer;
  const std::string extension = ExtensionOf(name);
  if (extension.empty()) return NameClaim::kNothing;
  NameClaim claim = NameClaim::kNothing;
  for (const Format* format : kFormats) {
    if (!Lists(format->extensions, extension)) continue;
    if (!Lists(format->text_extensions, extension)) {
      return NameClaim::kContainer;
    }
    claim = NameClaim::kContainerOrText;
  }
  return claim;
}

bool ClaimsContainer(std::string_view name, Bytes head) {
  const NameClaim claim = ClaimOf(name);
  if (claim != NameClaim::kContainerOrText) {
    return claim == NameClaim::kContainer;
  }
  return head.empty() || !LooksLikeText(head) ||
         RecogniseForeign(head) != nullptr;
}

const Format* FormatOfDirectory(const Source& directory,
                                const Request& request) {
  const auto found = std::ranges::find_if(kFormats, [&](const Format* format) {
    return format->probe_directory != nullptr &&
           format->probe_directory(directory, request);
  });
  return found == kFormats.end() ? nullptr : *found;
}

bool IsContainerDirectory(const Source& directory, const Request& request) {
  return FormatOfDirectory(directory, request) != nullptr;
}

bool ResemblesContainer(const Source& directory, const Request& request) {
  return AnyFormat([&](const Format& format) {
    return format.resembles_directory != nullptr &&
           format.resembles_directory(directory, request);
  });
}

namespace {

Result<std::shared_ptr<const Container>> OpenDirectory(
    std::shared_ptr<const Source> directory, const OpenOptions& options,
    const ReadContext& context) {
  const Format* format = FormatOfDirectory(*directory, context);
  // No format accepts the directory. If it resembles a container of a format,
  // the error of that format says what is missing.
  for (const Format* other : Formats()) {
    if (format != nullptr) break;
    if (other->resembles_directory != nullptr &&
        other->resembles_directory(*directory, context)) {
      format = other;
    }
  }
  for (const Format* other : Formats()) {
    if (format != nullptr) break;
    if (other->reads_directories()) format = other;
  }
  return format->open(std::move(directory), options, context);
}

bool IsNamedAs(const Format& format, std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos &&
         (Lists(format.extensions, name.substr(dot + 1)) ||
          (!format.name_suffix.empty() && name.ends_with(format.name_suffix)));
}

bool ResemblesByFirstBytes(const Format& format, Bytes head) {
  return format.resembles != nullptr && format.resembles(head);
}
bool ResemblesOtherwise(const Format& format, const Source& source,
                        const Request& request) {
  return format.resembles_source != nullptr &&
         format.resembles_source(source, request);
}

/// Whether the format identifies its files by a suffix that this name lacks.
bool IsNamedOtherwise(const Format& format, const Source& source) {
  return !format.name_suffix.empty() &&
         !source.name().ends_with(format.name_suffix);
}

/// Returns the compression of a file whose decoded bytes are a container, or
/// should be according to its name; else kNone. The name counts only if the
/// file was not found by a search (`options.found`). `head`: start of `source`.
Result<Compression> CompressionAround(const Source& source, Bytes head,
                                      const OpenOptions& options,
                                      const Request& request) {
  const Compression compression = CompressionOf(head);
  if (compression == Compression::kNone) return compression;
  const uint64_t size = std::min(source.size(), kHeadOfCompressed);
  const Buffer start = CTXFS_TRY(ReadBuffer(source, 0, size, "start", request));
  if (FormatInside(start.span()) != nullptr) return compression;
  const bool named = IsCompressedContainerName(source.name());
  return named && !options.found ? compression : Compression::kNone;
}

Result<std::shared_ptr<const Container>> OpenRecognised(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context, bool decompress = true) {
  if (source->is_directory()) {
    return OpenDirectory(std::move(source), options, context);
  }
  const Buffer head = CTXFS_TRY(ReadHead(*source, context));
  if (const Format* const format = FormatOf(head.span())) {
    return format->open(std::move(source), options, context);
  }
  const Compression compression =
      decompress
          ? CTXFS_TRY(CompressionAround(*source, head.span(), options, context))
          : Compression::kNone;
  if (compression != Compression::kNone) {
    const auto decoded = CTXFS_TRY(
        OpenCompressed(std::move(source), compression, options.kept, context));
    auto opened =
        OpenRecognised(decoded, options, context, /*decompress=*/false);
    if (opened) decoded->EndOpening(options.kept);
    return opened;
  }
  // If the file has the signature of a foreign format, the error names that
  // format, even if a format of ctxfs that the file resembles has refused it.
  // If the file is text, or of a foreign format without a signature, the
  // refusal is returned, unless the file has a name, and the refusing format
  // has no such names.
  const ForeignFormat* const foreign =
      RecogniseForeign(head.span(), source.get(), context);
  const bool certain = foreign != nullptr && !foreign->signature.empty();
  const bool known = foreign != nullptr || LooksLikeText(head.span());
  std::optional<Error> refusal;  // of the first resembled format
  for (const Format* format : Formats()) {
    if (options.found && IsNamedOtherwise(*format, *source)) continue;
    const bool named = IsNamedAs(*format, source->name());
    const bool unlikely = foreign != nullptr && !certain && !named;
    const bool resembles =
        (!unlikely && ResemblesByFirstBytes(*format, head.span())) ||
        ResemblesOtherwise(*format, *source, context);
    if (!resembles) continue;
    Result<std::shared_ptr<const Container>> opened =
        format->open(source, options, context);
    if (opened || opened.error().code != Code::kNotContainer) return opened;
    const bool expected = named || source->name().empty() || !known;
    if (!refusal && expected) refusal = std::move(opened).error();
  }
  if (refusal && !certain) return *std::move(refusal);
  return Error{Code::kNotContainer,
               WhyNoContainer(head.span(), source.get(), context), 0};
}

class AllFormats final : public FormatSet {
 public:
  const Format* Of(Bytes head) const override { return FormatOf(head); }
  const Format* OfArchive(
      const std::function<bool(std::string_view)>& has_file) const override {
    const auto found = std::ranges::find_if(kFormats, [&](const Format* one) {
      return std::ranges::any_of(WordsOf(one->archive_files), has_file);
    });
    return found == kFormats.end() ? nullptr : *found;
  }
  Result<std::shared_ptr<const Container>> Open(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context) const override {
    return OpenContainer(std::move(source), options, context);
  }
};

constexpr AllFormats kAllFormats;

}  // namespace

Result<std::shared_ptr<const Container>> OpenContainer(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  const HeapAllowance allowance(limits::kOpenBytes, {Code::kLimit, "index="});
  const AllowedWork work(context.interrupt());
  OpenOptions with_formats = options;
  with_formats.formats = &kAllFormats;
  Result<std::shared_ptr<const Container>> opened =
      OpenRecognised(source, with_formats, context.With(work));
  CTXFS_TRY(HeapAllowance::Check());
  if (std::optional<Error> shortage = source->Shortage()) {
    return *std::move(shortage);
  }
  return opened;
}

}  // namespace ctxfs
