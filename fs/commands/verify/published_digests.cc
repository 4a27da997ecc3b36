// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/published_digests.h"

#include <fmt/core.h>
#include <limits.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/content/sha256_of.h"

namespace ctxfs {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kSha1Digits = 40;
constexpr std::string_view kBlank = " \t\r\n";

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") ==
         std::string_view::npos;
}

/// `text` without `prefix`; nullopt if it does not begin with it.
std::optional<std::string_view> After(std::string_view prefix,
                                      std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

/// Parses a digest, whose number of digits determines its kind.
std::optional<PublishedDigest> DigestOf(std::string_view text) {
  const bool sha1 = text.size() == kSha1Digits;
  if ((!sha1 && text.size() != kSha256Digits) || !IsHex(text)) {
    return std::nullopt;
  }
  return PublishedDigest{
      sha1 ? PublishedKind::kGitSha1 : PublishedKind::kSha256,
      LowerHex(std::string(text))};
}

/// The digits after "sha256:".
std::optional<std::string> DigestOfImage(const std::string& text) {
  const auto digits = After("sha256:", text);
  return digits ? AsSha256(*digits) : std::nullopt;
}

/// Normalises `name`, removing "." and "..". Leaves a name of PATH_MAX or more
/// bytes unchanged, because it is no path on Linux.
std::string NormalName(std::string_view name) {
  if (name.size() >= PATH_MAX) return std::string(name);
  return std::filesystem::path(name).lexically_normal().string();
}

/// Removes and returns the first line of `text`, without its end.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

PublishedDigests ReadPointer(std::string_view text) {
  PublishedDigests found;
  PublishedDigest digest;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (const auto oid = After("oid sha256:", line)) {
      digest.hex = AsSha256(*oid).value_or("");
    } else if (const auto size = After("size ", line)) {
      digest.size = WholeNumber<uint64_t>(*size);
    }
  }
  if (!digest.hex.empty()) found.digests.push_back(std::move(digest));
  return found;
}

/// Undoes the escapes of `sha256sum` in a line that begins with a backslash.
std::string WithoutEscapes(std::string_view name) {
  std::string plain;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool escape = name[i] == '\\' && i + 1 < name.size();
    const char c = escape ? name[++i] : name[i];
    plain += !escape ? c : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return plain;
}

/// Parses "HEX  NAME", "HEX *NAME", "SHA256 (NAME) = HEX", or only the digits.
std::optional<PublishedDigest> DigestOfLine(std::string_view line) {
  const bool escaped = line.starts_with('\\');
  if (escaped) line.remove_prefix(1);
  std::string_view digits = line.substr(0, kSha256Digits);
  std::string_view name = line.substr(digits.size());
  if (const auto tagged = After("SHA256 (", line)) {
    const size_t end = tagged->rfind(") = ");
    if (end == std::string_view::npos) return std::nullopt;
    name = tagged->substr(0, end);
    digits = tagged->substr(end + 4);
  } else if (name.starts_with("  ") || name.starts_with(" *")) {
    name.remove_prefix(2);
  } else if (name.find_first_not_of(kBlank) != std::string_view::npos) {
    return std::nullopt;
  } else {
    name = {};
  }
  std::optional<std::string> hex = AsSha256(digits);
  if (!hex) return std::nullopt;
  PublishedDigest digest{PublishedKind::kSha256, *std::move(hex)};
  if (!name.empty()) {
    digest.name = NormalName(escaped ? WithoutEscapes(name) : name);
  }
  return digest;
}

/// Parses lines of sha256sum(1). Ignores other lines: comments, or the armour
/// of a signature.
PublishedDigests ReadSums(std::string_view text) {
  PublishedDigests found;
  while (!text.empty()) {
    if (auto digest = DigestOfLine(TakeLine(text))) {
      found.digests.push_back(*std::move(digest));
    }
  }
  return found;
}

/// Parses the hub client's metadata of a file that it has downloaded into a
/// directory: lines with commit, ETag (a digest) and time.
PublishedDigests ReadClientMetadata(std::string_view text) {
  PublishedDigests found;
  const std::string_view commit = TakeLine(text);
  if (commit.size() != kSha1Digits || !IsHex(commit)) return found;
  if (auto digest = DigestOf(TakeLine(text))) {
    found.digests.push_back(*std::move(digest));
  }
  return found;
}

const Json* ArrayAt(const Json& object, const char* key) {
  const Json* const found = MemberAt(object, key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

/// The layers of an image of ollama or OCI.
PublishedDigests ReadImage(const Json& layers) {
  PublishedDigests found;
  found.is_image = true;
  for (const Json& layer : layers) {
    std::optional<std::string> hex = DigestOfImage(TextAt(layer, "digest"));
    if (!hex) continue;
    PublishedDigest digest{PublishedKind::kSha256, *std::move(hex)};
    digest.size = CountAt(layer, "size");
    const std::string type = TextAt(layer, "mediaType");
    digest.is_model = type.ends_with(".image.model") ||
                      type.find(".model.weight") != std::string::npos;
    if (const Json* const notes = MemberAt(layer, "annotations")) {
      for (const char* const key :
           {"org.cncf.model.filepath", "org.opencontainers.image.title"}) {
        const std::string name = TextAt(*notes, key);
        if (digest.name.empty() && !name.empty()) {
          digest.name = NormalName(name);
        }
      }
    }
    found.digests.push_back(std::move(digest));
  }
  return found;
}

PublishedDigests ReadIndex(const Json& manifests) {
  PublishedDigests found;
  found.is_image = true;
  for (const Json& manifest : manifests) {
    if (auto hex = DigestOfImage(TextAt(manifest, "digest"))) {
      found.manifests.push_back(*std::move(hex));
    }
  }
  return found;
}

/// Parses a sigstore bundle: an in-toto statement in a DSSE envelope, whose
/// predicate lists the files of a model.
Result<PublishedDigests> ReadSignature(const Json& envelope) {
  const auto payload = FromBase64(TextAt(envelope, "payload"));
  if (!payload) return Error{Code::kCorrupt, "the payload is not base64"};
  const ParsedJson statement = CTXFS_TRY(ParseJson(*payload));
  const Json* const predicate = MemberAt(statement.value, "predicate");
  const Json* const files =
      predicate == nullptr ? nullptr : ArrayAt(*predicate, "resources");
  if (files == nullptr) {
    return Error{Code::kCorrupt, "the signature has no list of files"};
  }
  PublishedDigests found;
  for (const Json& file : *files) {
    auto hex = AsSha256(TextAt(file, "digest"));
    // Other digests are of parts of files or use other algorithms.
    if (!hex || TextAt(file, "algorithm") != "sha256") continue;
    found.digests.push_back({PublishedKind::kSha256, *std::move(hex),
                             NormalName(TextAt(file, "name"))});
  }
  const std::string type = TextAt(envelope, "payloadType");
  found.signed_text = fmt::format("DSSEv1 {} {} {} {}", type.size(), type,
                                  payload->size(), *payload);
  const Json* const signatures = ArrayAt(envelope, "signatures");
  if (signatures != nullptr && !signatures->empty()) {
    found.signature =
        FromBase64(TextAt(signatures->front(), "sig")).value_or("");
  }
  if (found.signature.empty()) {
    return Error{Code::kCorrupt, "the signature is missing"};
  }
  return found;
}

Result<PublishedDigests> ReadJson(std::string_view text) {
  const ParsedJson json = CTXFS_TRY(ParseJson(text));
  if (const Json* const envelope = MemberAt(json.value, "dsseEnvelope")) {
    return ReadSignature(*envelope);
  }
  if (const Json* const layers = ArrayAt(json.value, "layers")) {
    return ReadImage(*layers);
  }
  if (const Json* const manifests = ArrayAt(json.value, "manifests")) {
    return ReadIndex(*manifests);
  }
  return PublishedDigests();
}

}  // namespace

bool PublishedDigests::HasUnnamed() const {
  return !is_image && std::ranges::any_of(digests, [](const auto& digest) {
    return digest.name.empty();
  });
}

std::optional<std::string> AsSha256(std::string_view text) {
  if (text.size() != kSha256Digits || !IsHex(text)) return std::nullopt;
  return LowerHex(std::string(text));
}

Result<PublishedDigests> ParseDigests(std::string_view text) {
  const size_t start = text.find_first_not_of(kBlank);
  PublishedDigests found;
  if (start != std::string_view::npos && text[start] == '{') {
    found = CTXFS_TRY(ReadJson(text.substr(start)));
  } else if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    found = ReadPointer(text);
  } else {
    found = ReadClientMetadata(text);
    if (found.digests.empty()) found = ReadSums(text);
  }
  if (found.digests.empty() && found.manifests.empty()) {
    return Error{Code::kCorrupt, "has no SHA-256 of a file"};
  }
  return found;
}

std::optional<PublishedDigest> DigestInPath(std::string_view path) {
  std::vector<std::string_view> names(4);
  for (std::string_view& name : names) {
    const size_t slash = path.rfind('/');
    name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  if (const auto digits = After("sha256-", names[0])) {
    const auto hex = AsSha256(*digits);
    if (hex) return PublishedDigest{PublishedKind::kSha256, *hex};
  }
  const bool layout = names[1] == "sha256" && names[2] == "blobs";
  const bool lfs = names[3] == "objects" && names[2].size() == 2 &&
                   names[1].size() == 2 && names[0].starts_with(names[2]) &&
                   names[0].substr(2).starts_with(names[1]);
  if (!layout && !lfs && names[1] != "blobs") return std::nullopt;
  std::optional<PublishedDigest> digest = DigestOf(names[0]);
  const bool sha256 = digest && digest->kind == PublishedKind::kSha256;
  if ((layout || lfs) && !sha256) return std::nullopt;
  return digest;
}

}  // namespace ctxfs
