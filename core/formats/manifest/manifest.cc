// SPDX-License-Identifier: Apache-2.0
//
// Implements manifest form A, Shard role 4 (docs/formats/manifest.md): metadata
// that lists files. Fetches nothing, and opens nothing outside the manifest's
// directory.
#include "core/formats/manifest/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "core/base/errors.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/interfaces/has_parts.h"
#include "core/container/open.h"
#include "core/content/sha256_of.h"
#include "core/formats/manifest/limits.h"
#include "core/formats/shard/shard.h"

namespace ctxfs::manifest {
namespace {

constexpr size_t kVerdictWidth = 8;  // of "absent", the longest, in quotes

// The constant parts of a line of sha256.json.
constexpr std::string_view kFirstLine = "[\n{\"uri\": ";
constexpr std::string_view kNextLine = ",\n{\"uri\": ";
static_assert(kFirstLine.size() == kNextLine.size());
constexpr std::string_view kAfterUri = ", \"verified\": ";
constexpr std::string_view kLineEnd = "}";
constexpr std::string_view kLastLine = "\n]\n";
constexpr std::string_view kNoLines = "[\n]\n";

std::string UriText(const Json& described) {
  return JsonLine(TextAt(described, "uri"));
}

/// Returns the path of a URI that is a relative path, possibly after `file:`;
/// otherwise empty. OpenBeside confines it to the manifest's directory.
std::string PathOf(std::string_view uri) {
  if (uri.starts_with("file:")) uri.remove_prefix(5);
  const size_t colon = uri.find(':');
  if (uri.starts_with("/") || colon < uri.find('/')) return {};
  while (uri.starts_with("./")) uri.remove_prefix(2);
  return std::string(uri);
}

bool HoldsContainer(const Buffer& head, const FormatSet* formats) {
  return formats != nullptr && formats->Of(head.span()) != nullptr;
}

}  // namespace

class Manifest final : public shard::ShardContainer, public HasParts {
 public:
  using shard::ShardContainer::ShardContainer;

  Status Load(const ReadContext& context) override;
  std::vector<Error> Inspect(const ReadContext& context) const override;
  Tables Files() const override;
  std::vector<ChildContainer> Children() const override;
  std::vector<std::string> PartsBeside(
      const ReadContext& context) const override;
  bool ShowsWholeParts() const override { return true; }
  std::vector<PartFile> OtherFiles() const override;

 private:
  friend class VerdictsBlock;

  Status AddOwnFacts(const ReadContext& context, Facts& facts) const override {
    facts.Add("files", references_.size(), "files");
    return context.Check();
  }

  enum class Kind : uint8_t { kElsewhere, kAbsent, kFile, kContainer };
  struct Reference {
    Json described;      // its object in the metadata
    std::string path;    // in the manifest's directory; empty: elsewhere
    std::string sha256;  // lower case, or empty
    Kind kind = Kind::kElsewhere;
    uint64_t size = 0;  // bytes, if the file is present
    FileIdentity identity = {};
    std::string reason;  // why the file is not shown
    bool shown = false;  // below parts/, and the first of equal paths
  };

  Status Look(Reference& reference, const Request& request) const;
  /// Returns whether the file has the manifest's hash, and records the verdict.
  /// Fails with kNotFound if the file was removed.
  Result<Verdict> Check(size_t reference, const ReadContext& context) const;
  Json Listing() const;
  Result<Content> OpenPart(const Reference& reference,
                           const Request& request) const;
  std::shared_ptr<const FileTable> PartFiles() const;
  /// Adds the length of the next reference's line in sha256.json to
  /// verdicts_size_.
  void CountLine(const Json& described);

  const uint64_t block_owner_ = NewOwner();
  bool has_list_ = false;
  std::vector<Reference> references_;
  mutable std::vector<AtomicVerdict> found_;
  uint64_t verdicts_size_ = kNoLines.size();  // bytes of sha256.json
  uint64_t longest_uri_ = 0;                  // bytes, in JSON
};

/// The text of `.ctxfs/sha256.json`. Producing the block hashes the files.
/// Verdicts are padded, so the size of the text is known before.
class VerdictsBlock final : public Block {
 public:
  VerdictsBlock(Key key, std::shared_ptr<const Manifest> manifest)
      : Block(key), manifest_(std::move(manifest)) {}

  /// Memory of the text, its verdicts, one URI raw and as JSON (in a buffer of
  /// up to twice its size), and a piece of a file.
  uint64_t cost() const override {
    return size() + manifest_->references_.size() * sizeof(const char*) +
           3 * manifest_->longest_uri_ + limits::kMiB;
  }

  uint64_t size() const { return manifest_->verdicts_size_; }

  Result<Buffer> Produce(const ReadContext& context) const override {
    std::vector<const char*> words;
    words.reserve(manifest_->references_.size());
    for (size_t i = 0; i < manifest_->references_.size(); ++i) {
      const char* word = CTXFS_TRY(WordOf(i, context));
      words.push_back(word);
    }
    return Text(words, context);
  }

 private:
  /// Returns the verdict on a file, quoted.
  Result<const char*> WordOf(size_t index, const ReadContext& context) const {
    CTXFS_TRY(context.Check());
    const Manifest::Reference& reference = manifest_->references_[index];
    if (reference.kind < Manifest::Kind::kFile) return kAbsent;
    if (reference.sha256.empty()) return "\"none\"";
    const Result<Verdict> verdict = manifest_->Check(index, context);
    if (verdict) {
      return *verdict == Verdict::kPassed ? "\"yes\"" : "\"failed\"";
    }
    if (verdict.error().code == Code::kNotFound) {
      return kAbsent;  // removed since the mount
    }
    return verdict.error();
  }

  Result<Buffer> Text(const std::vector<const char*>& words,
                      const ReadContext& context) const {
    Buffer text(static_cast<size_t>(size()));
    size_t at = 0;
    const auto put = [&text, &at](std::string_view piece) {
      std::memcpy(text.data() + at, piece.data(), piece.size());
      at += piece.size();
    };
    for (size_t i = 0; i < words.size(); ++i) {
      CTXFS_TRY(context.Check());
      put(i == 0 ? kFirstLine : kNextLine);
      put(UriText(manifest_->references_[i].described));
      put(kAfterUri);
      std::string word = words[i];
      word.resize(kVerdictWidth, ' ');
      put(word);
      put(kLineEnd);
    }
    put(words.empty() ? kNoLines : kLastLine);
    return text;
  }

  static constexpr const char* kAbsent = "\"absent\"";

  std::shared_ptr<const Manifest> manifest_;
};

Status Manifest::Load(const ReadContext& context) {
  CTXFS_TRY(shard::ShardContainer::Load(context));
  const Json metadata = Metadata(context);
  if (metadata.is_discarded()) {  // a transient error
    return Error{Code::kIo, "the metadata cannot be read",
                 header().schema_offset, EIO};
  }
  const Json* manifest = MemberAt(metadata, "manifest");
  if (manifest == nullptr || !manifest->is_object()) return {};
  has_list_ = true;
  const Json* files = MemberAt(*manifest, "files");
  if (files == nullptr || !files->is_array()) return {};
  if (files->size() > kMaxFiles) {
    Warn({fmt::format(
        "a manifest of {} files, over the limit of {}: none is shown",
        files->size(), kMaxFiles)});
    return {};
  }
  std::set<std::string> shown;
  for (const Json& described : *files) {
    Reference reference;
    reference.described = described;
    reference.path = PathOf(TextAt(described, "uri"));
    reference.sha256 = LowerHex(TextAt(described, "sha256"));
    CTXFS_TRY(context.Check());
    CTXFS_TRY(Look(reference, context));
    reference.shown =
        reference.kind >= Kind::kFile && shown.insert(reference.path).second;
    AddStoredSize(reference.size);
    CountLine(described);
    references_.push_back(std::move(reference));
  }
  found_ = std::vector<AtomicVerdict>(references_.size());
  return {};
}

void Manifest::CountLine(const Json& described) {
  const uint64_t uri = UriText(described).size();
  longest_uri_ = std::max(longest_uri_, uri);
  if (references_.empty()) verdicts_size_ = kLastLine.size();
  verdicts_size_ += kNextLine.size() + uri + kAfterUri.size() + kVerdictWidth +
                    kLineEnd.size();
}

Status Manifest::Look(Reference& reference, const Request& request) const {
  if (reference.path.empty()) {
    reference.reason = "not a path within the manifest's directory";
    return {};
  }
  const Result<std::shared_ptr<const Source>> source =
      this->source()->OpenBeside(reference.path, request);
  if (!source) {
    const Error& error = source.error();
    if (options_.FailsWith(error)) return Within(Quote(reference.path), error);
    reference.reason = error.what;
    if (error.code != Code::kCorrupt) reference.kind = Kind::kAbsent;
    return {};
  }
  const Result<Buffer> head = ReadHead(**source, request);
  if (!head && options_.FailsWith(head.error())) {
    return Within(Quote(reference.path), head.error());
  }
  reference.size = (*source)->size();
  reference.identity = (*source)->identity();
  reference.kind = head && HoldsContainer(*head, options_.formats)
                       ? Kind::kContainer
                       : Kind::kFile;
  return {};
}

Result<Verdict> Manifest::Check(size_t index,
                                const ReadContext& context) const {
  const Verdict known = found_[index].load(std::memory_order_acquire);
  if (known != Verdict::kUnknown) return known;
  const Reference& reference = references_[index];
  std::shared_ptr<const Source> source =
      CTXFS_TRY(this->source()->OpenBeside(reference.path, context));
  const std::string digest = CTXFS_TRY(Sha256Of(std::move(source), context));
  const Verdict verdict =
      digest == reference.sha256 ? Verdict::kPassed : Verdict::kFailed;
  found_[index].store(verdict, std::memory_order_release);
  return verdict;
}

std::vector<Error> Manifest::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = shard::ShardContainer::Inspect(context);
  for (size_t i = 0; i < references_.size(); ++i) {
    const Reference& reference = references_[i];
    if (reference.kind < Kind::kFile || reference.sha256.empty()) continue;
    const Result<Verdict> verdict = Check(i, context);
    if (!verdict) {
      faults.push_back(verdict.error());
    } else if (*verdict == Verdict::kFailed) {
      faults.push_back(
          {Code::kChecksum, "the sha256 of " + Quote(reference.path) +
                                " is not the one in the manifest"});
    }
  }
  return faults;
}

Json Manifest::Listing() const {
  Json listing = Json::array();
  for (size_t i = 0; i < references_.size(); ++i) {
    const Reference& reference = references_[i];
    Json one =
        reference.described.is_object() ? reference.described : Json::object();
    const bool there = reference.kind >= Kind::kFile;
    one["present"] = there;
    if (there) one["size"] = reference.size;
    if (there) one["path"] = "parts/" + reference.path;
    if (!there) one["note"] = reference.reason;
    const Verdict verdict = found_[i].load(std::memory_order_acquire);
    one["verified"] = verdict == Verdict::kPassed   ? "yes"
                      : verdict == Verdict::kFailed ? "failed"
                      : reference.sha256.empty()    ? "none"
                                                    : "no";
    listing.push_back(std::move(one));
  }
  return listing;
}

Result<Content> Manifest::OpenPart(const Reference& reference,
                                   const Request& request) const {
  std::shared_ptr<const Source> part =
      CTXFS_TRY(source()->OpenBeside(reference.path, request));
  if (part->size() != reference.size) {
    return Error{Code::kStale, "the file changed under the mount"};
  }
  return Content(Range{std::move(part), 0, nullptr}, reference.size);
}

/// Returns the files parts/PATH: files of the manifest that are not containers.
std::shared_ptr<const FileTable> Manifest::PartFiles() const {
  return MakeTable(
      {.placement = {.directory = "parts"},
       .count = static_cast<uint32_t>(references_.size()),
       .path = [this](uint32_t part, std::string& /*scratch*/)
           -> std::optional<std::string_view> {
         const Reference& reference = references_[part];
         if (!reference.shown || reference.kind != Kind::kFile) {
           return std::nullopt;
         }
         return reference.path;
       },
       .open =
           [this](uint32_t part, const ReadContext& context) {
             return OpenPart(references_[part], context);
           },
       .facts =
           [this](uint32_t part) { return FileFacts{references_[part].size}; },
       .owner = Share(*this)});
}

Container::Tables Manifest::Files() const {
  Tables files = shard::ShardContainer::Files();
  if (!has_list_) return files;
  files.push_back(FreshDocument(
      Role::kMetadata, "manifest.json",
      [self = Share(*this)](const ReadContext& /*context*/) {
        return Result<std::string>(FormatJson(self->Listing()));
      },
      /*live=*/true));
  files.push_back(OpenedFile(
      Role::kMetadata, "sha256.json",
      [self = Share(*this)](const ReadContext& /*context*/) {
        auto block = std::make_shared<const VerdictsBlock>(
            Key{self->block_owner_, 0}, self);
        const uint64_t size = block->size();
        return Result<Content>(Content(Decoded{std::move(block), 0}, size));
      }));
  files.push_back(PartFiles());
  return files;
}

std::vector<ChildContainer> Manifest::Children() const {
  std::vector<ChildContainer> parts;
  for (const Reference& reference : references_) {
    if (!reference.shown || reference.kind != Kind::kContainer) continue;
    parts.push_back({"parts/" + reference.path,
                     [self = Share(*this),
                      path = reference.path](const ReadContext& context) {
                       return self->source()->OpenBeside(path, context);
                     }});
  }
  return parts;
}

std::vector<std::string> Manifest::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> parts;
  for (const Reference& reference : references_) {
    if (reference.shown) parts.push_back(reference.path);
  }
  return parts;
}

std::vector<HasParts::PartFile> Manifest::OtherFiles() const {
  std::vector<PartFile> files;
  for (const Reference& reference : references_) {
    if (reference.kind >= Kind::kFile) {
      files.push_back({reference.identity, reference.size});
    }
  }
  return files;
}

Result<std::shared_ptr<const Container>> OpenManifest(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  return OpenAs<Manifest>(std::move(source), options, context);
}

}  // namespace ctxfs::manifest
