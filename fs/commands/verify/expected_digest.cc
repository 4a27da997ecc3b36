// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/expected_digest.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/text/text.h"
#include "core/codec/crypto/digest.h"
#include "core/codec/crypto/signature.h"
#include "core/content/content.h"
#include "core/content/read_through.h"
#include "core/content/sha256_of.h"
#include "core/io/directory.h"
#include "core/io/download_cache.h"
#include "core/io/urls/url.h"
#include "core/io/walk.h"
#include "core/vfs/sources.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

/// Maximum number of manifests in the index of an OCI layout; it has one per
/// platform.
constexpr size_t kMaxManifests = 100;
/// Maximum number of cached texts.
constexpr size_t kMaxKept = 64;

/// The blob of the hub's cache that the link at `path` leads to.
std::optional<std::string> BlobOfPath(const std::string& path) {
  const fs::path located = LocatedPath(path);
  const Result<Fd> folder = FindPath(located.parent_path(), O_DIRECTORY);
  if (!folder) return std::nullopt;
  return BlobOfLink(*folder, located.filename());
}

/// The digest in the file's own name, or in the name of its blob.
std::optional<ExpectedDigest> DigestInName(const std::string& path) {
  if (auto digest = DigestInPath(LocatedPath(path))) {
    return ExpectedDigest{*std::move(digest), "its name"};
  }
  std::error_code failed;
  if (!fs::is_symlink(path, failed)) return std::nullopt;
  // The blob may itself be a link to an entry of the store, whose name is no
  // digest.
  const std::string blob =
      BlobOfPath(path).value_or(fs::weakly_canonical(path, failed).string());
  if (auto digest = DigestInPath(blob)) {
    return ExpectedDigest{*std::move(digest), "the name of its blob"};
  }
  return std::nullopt;
}

Result<std::string> ReadText(const std::string& path) {
  const SourcePtr source = CTXFS_TRY(OpenSource(path));
  if (source->is_directory()) {
    return Error{Code::kUnsupported, "a directory is no list of digests"};
  }
  if (source->size() > kMaxDigestBytes) {
    return Error{Code::kLimit, fmt::format("{} bytes of digests, at most {}",
                                           source->size(), kMaxDigestBytes)};
  }
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(*source, 0, source->size(), "digests", Request()));
  return std::string(AsText(bytes.span()));
}

/// Turns an error of reading the text at `path` into one about that text: the
/// checked file is not damaged.
Error About(const std::string& path, Error error) {
  error.what = Quote(path) + ": " + error.Text();
  error.offset = kNoOffset;
  if (error.code == Code::kCorrupt || error.code == Code::kChecksum) {
    error.code = Code::kUnsupported;
  }
  return error;
}

Error NoneOf(const std::string& path, const std::string& where) {
  return {Code::kNotFound,
          fmt::format("no digest of {} in {}", Quote(BaseName(path)), where)};
}

/// Whether a digest for the name `name` applies to the file at `path`: compares
/// `name` with the path relative to `folder` if the file is below `folder`,
/// else with the last components of the path.
bool IsFor(std::string_view name, std::string_view path,
           const std::string& folder) {
  const std::string below = folder.ends_with('/') ? folder : folder + "/";
  if (path.starts_with(below)) return path.substr(below.size()) == name;
  return path == name ||
         (path.ends_with(name) &&
          path.substr(0, path.size() - name.size()).ends_with('/'));
}

}  // namespace

Result<std::unique_ptr<ExpectedDigests>> ExpectedDigests::Make(
    const std::string& value, const std::string& public_key) {
  std::unique_ptr<ExpectedDigests> made(new ExpectedDigests());
  made->public_key_ = public_key;
  if (auto hex = AsSha256(value)) {
    made->given_ = {{PublishedKind::kSha256, *std::move(hex)}, "--sha256"};
    if (!public_key.empty()) {
      return Error{Code::kUnsupported, "digits are not signed"};
    }
  } else if (value != "auto") {
    made->text_ = CTXFS_TRY(made->Read(value));
  }
  return made;
}

bool ExpectedDigests::IsOfOneFile() const {
  return given_.has_value() ||
         (text_ != nullptr && text_->published.HasUnnamed());
}

Result<ExpectedDigest> ExpectedDigests::Of(const std::string& path,
                                           const std::string& top) const {
  if (given_) return *given_;
  if (text_ != nullptr) return FindIn(*text_, path);
  if (IsUrl(path)) {
    return Error{Code::kNotFound, "beside a URL no digest is looked for"};
  }
  return FindAround(path, top);
}

Result<ExpectedDigests::TextPtr> ExpectedDigests::Read(
    const std::string& path) const {
  Result<std::string> bytes = ReadText(path);
  if (!bytes) return About(path, std::move(bytes).error());
  Result<PublishedDigests> published = ParseDigests(*bytes);
  if (!published) return About(path, std::move(published).error());
  auto text = std::make_shared<Text>();
  text->from = path;
  text->folder = fs::path(LocatedPath(path)).parent_path().string();
  text->published = *std::move(published);
  const PublishedDigests& found = text->published;
  if (!found.signature.empty()) text->signature = SignatureState::kNotVerified;
  if (!public_key_.empty()) {
    if (found.signature.empty()) {
      return About(path, {Code::kUnsupported, "has no signature"});
    }
    if (!CTXFS_TRY(
            IsSignedBy(public_key_, found.signed_text, found.signature))) {
      return About(path, {Code::kChecksum, "is not signed by this key"});
    }
    text->signature = SignatureState::kVerified;
  }
  if (Status read = ReadManifests(*text); !read) {
    return About(path, std::move(read).error());
  }
  for (size_t i = 0; i < found.digests.size(); ++i) {
    const std::string& name = found.digests[i].name;
    if (!name.empty()) text->by_name[BaseName(name)].push_back(i);
  }
  return TextPtr(std::move(text));
}

Status ExpectedDigests::ReadManifests(Text& text) const {
  const std::vector<std::string> manifests =
      std::move(text.published.manifests);
  if (manifests.size() > kMaxManifests) {
    return Error{Code::kLimit, fmt::format("{} manifests, at most {}",
                                           manifests.size(), kMaxManifests)};
  }
  for (const std::string& hex : manifests) {
    const std::string name = "blobs/sha256/" + hex;
    const std::string bytes = CTXFS_TRY(ReadText(text.folder + "/" + name));
    Sha256 sha256;
    sha256.Update(AsBytes(bytes));
    if (sha256.Hex() != hex) {
      return Error{Code::kChecksum, "the SHA-256 of " + name + " is another"};
    }
    PublishedDigests manifest = CTXFS_TRY(ParseDigests(bytes));
    std::ranges::move(manifest.digests,
                      std::back_inserter(text.published.digests));
  }
  return {};
}

Result<ExpectedDigests::TextPtr> ExpectedDigests::ReadBeside(
    const std::string& path) const {
  {
    const MutexLock lock(mutex_);
    const auto known = beside_.find(path);
    if (known != beside_.end()) return known->second;
  }
  std::error_code failed;
  Result<TextPtr> read = fs::exists(path, failed) ? Read(path) : TextPtr();
  const MutexLock lock(mutex_);
  if (beside_.size() >= kMaxKept) beside_.clear();
  beside_.emplace(path, read);
  return read;
}

Result<ExpectedDigest> ExpectedDigests::FindBeside(const std::string& name,
                                                   const std::string& path,
                                                   bool shared) const {
  const TextPtr text = CTXFS_TRY(ReadBeside(name));
  // A digest without a file name belongs only to the file that its text is
  // named after. A `shared` text is named after none.
  if (text == nullptr || (shared && text->published.HasUnnamed())) {
    return NoneOf(path, Quote(name));
  }
  return FindIn(*text, path);
}

std::optional<ExpectedDigest> ExpectedDigests::FindOfClient(
    const std::string& path, const std::string& folder) const {
  const std::string below = fs::path(path).lexically_relative(folder).string();
  // Like huggingface_hub, ignores metadata that it cannot read.
  Result<ExpectedDigest> found =
      FindBeside(folder + "/.cache/huggingface/download/" + below + ".metadata",
                 path, /*shared=*/false);
  if (found) return *std::move(found);
  return DigestIn(commits_.For(path, folder), path);
}

std::optional<ExpectedDigest> ExpectedDigests::DigestIn(
    const CommitTrees::FolderPtr& commit, const std::string& path) {
  const CommitFile* const file =
      commit == nullptr ? nullptr : commit->Find(path);
  if (file == nullptr || !file->digest) return std::nullopt;
  return ExpectedDigest{*file->digest, commit->from};
}

Result<ExpectedDigest> ExpectedDigests::FindAround(
    const std::string& path, const std::string& top) const {
  const bool any = public_key_.empty();
  if (any) {
    if (auto digest = DigestInName(path)) return *std::move(digest);
  }
  const auto concludes = [](const Result<ExpectedDigest>& found) {
    return found || found.error().code != Code::kNotFound;
  };
  const std::string located = LocatedPath(path);
  Result<ExpectedDigest> found =
      FindBeside(located + (any ? ".sha256" : ".sig"), path, /*shared=*/false);
  if (concludes(found)) return found;
  for (const std::string& folder : FoldersUpTo(located, top)) {
    if (any) {
      if (auto digest = FindOfClient(located, folder)) return *digest;
    }
    for (const char* const name :
         {"SHA256SUMS", "SHA256SUMS.txt", "sha256sums.txt", "model.sig"}) {
      if (!any && name != std::string_view("model.sig")) continue;
      found = FindBeside(folder + "/" + name, path, /*shared=*/true);
      if (concludes(found)) return found;
    }
  }
  if (any) {
    if (auto digest = DigestIn(commits_.OfSnapshot(located), located)) {
      return *std::move(digest);
    }
  }
  return NoneOf(path, "its name or a file beside it");
}

Result<ExpectedDigest> ExpectedDigests::FindIn(const Text& text,
                                               const std::string& path) {
  const std::vector<PublishedDigest>& all = text.published.digests;
  const auto found = [&text](const PublishedDigest& digest) {
    return ExpectedDigest{digest, text.from, text.signature};
  };
  // A blob of an image is named by the digest of its layer.
  if (const auto own = DigestInName(path); own && text.published.is_image) {
    for (const PublishedDigest& digest : all) {
      if (digest.hex == own->digest.hex) return found(digest);
    }
    return NoneOf(path, Quote(text.from));
  }
  const bool url = IsUrl(path);
  const std::string located = url ? WithoutQuery(path) : LocatedPath(path);
  const PublishedDigest* best = nullptr;
  const auto take = [&best](const PublishedDigest& digest) -> bool {
    const bool same =
        best != nullptr && best->name.size() == digest.name.size();
    if (same && best->hex != digest.hex) return false;
    if (best == nullptr || best->name.size() < digest.name.size()) {
      best = &digest;
    }
    return true;
  };
  bool sound = true;
  if (const auto named = text.by_name.find(BaseName(located));
      named != text.by_name.end()) {
    for (const size_t i : named->second) {
      if (IsFor(all[i].name, located, url ? located : text.folder)) {
        sound = take(all[i]) && sound;
      }
    }
  }
  for (const PublishedDigest& digest : all) {
    if (best != nullptr && !best->name.empty()) break;
    const bool any =
        text.published.is_image ? digest.is_model : digest.name.empty();
    if (any) sound = take(digest) && sound;
  }
  if (best == nullptr) return NoneOf(path, Quote(text.from));
  if (!sound) {
    return About(text.from,
                 {Code::kCorrupt, fmt::format("has several digests of {}",
                                              Quote(BaseName(path)))});
  }
  return found(*best);
}

Result<std::string> DigestOfSource(const SourcePtr& source, PublishedKind kind,
                                   const ReadContext& context) {
  if (kind == PublishedKind::kSha256) return Sha256Of(source, context);
  Sha1 hash;
  const std::string head = fmt::format("blob {}", source->size());
  hash.Update(AsBytes(std::string_view(head.c_str(), head.size() + 1)));
  const Content content(Range{source, 0, nullptr}, source->size());
  CTXFS_TRY(ReadThrough(content, context, [&hash](Bytes piece) {
    hash.Update(piece);
    return Status();
  }));
  std::string digest = hash.Hex();
  if (digest.empty()) return Error{Code::kNoMemory, "no SHA-1"};
  return digest;
}

std::string_view NameOf(PublishedKind kind) {
  return kind == PublishedKind::kSha256 ? "SHA-256" : "SHA-1 of git";
}

}  // namespace ctxfs
