// SPDX-License-Identifier: Apache-2.0
#include "tests/mutation/judge.h"

#include <algorithm>
#include <utility>

#include "core/codec/checksum.h"
#include "core/content/content.h"
#include "core/tree/container_tree.h"
#include "tests/support/judge.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

// How far down containers in containers are followed, how many of one, and how
// many of a directory of numbered files.
constexpr int kMaxDepth = 2;
constexpr size_t kMaxWithin = 16;
constexpr uint32_t kMaxNumbered = 16;

bool IsOf(const std::string& checksum, Bytes bytes) {
  return Checksum{ChecksumKind::kCrc32c, Crc32c(bytes)}.Text() == checksum ||
         Checksum{ChecksumKind::kCrc32, Crc32(bytes)}.Text() == checksum;
}

class Reader {
 public:
  Reader(const OpenOptions& options, const Reference* reference,
         const std::function<void(const std::string&)>& say, Tally& tally)
      : options_(options), reference_(reference), say_(say), tally_(tally) {}

  bool Open(std::shared_ptr<const Source> source, int depth) {
    auto container = OpenContainer(std::move(source), options_);
    if (!container) {
      Require(!container.error().what.empty(), "a refusal says why");
      return false;
    }
    ReadContainer(std::move(*container), depth);
    return true;
  }

 private:
  void ReadContainer(std::shared_ptr<const Container> container, int depth) {
    RequireSound(*container, cache_, UINT32_MAX);
    const ContainerTree container_tree(std::move(container));
    for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
      ReadNode(container_tree, node);
    }
    const size_t within =
        depth < kMaxDepth
            ? std::min(kMaxWithin, container_tree.sub_containers().size())
            : 0;
    for (size_t i = 0; i < within; ++i) {
      const ChildContainer& inside = container_tree.sub_containers()[i];
      if (!inside.open_source) continue;  // has no bytes of its own
      auto source = inside.open_source(cache_);
      if (source) Open(std::move(*source), depth + 1);
    }
  }

  void ReadNode(const ContainerTree& container_tree, NodeId node) {
    RequireFound(container_tree.tree(), node);
    if (!container_tree.tree().IsDirectory(node))
      ReadFile(container_tree, node);
    const NumberedDirectory* numbered = container_tree.Numbered(node);
    if (numbered == nullptr || !numbered->FindNames(cache_)) return;
    ForNumbered(*numbered, kMaxNumbered, [&](NodeId file) {
      const auto inside = numbered->NestedAt(file);
      if (!inside) return ReadFile(*numbered, file);
      const auto made = inside->open(cache_);
      if (made) ReadContainer(*made, kMaxDepth);
    });
  }

  void ReadFile(const FileTree& files, NodeId node) {
    const Result<bool> exists = files.Exists(node, Cost::kDecode, cache_);
    if (exists && !*exists) return;
    // A link has no bytes of its own.
    if (files.Type(node) == NodeType::kLink) return;
    const std::optional<EntryInfo> info = files.Describe(node, LoneContext());
    const bool covered = info && IsCovered(*info);
    const Result<uint64_t> size = files.Size(node, cache_);
    const Result<Content> content = files.Open(node, cache_);
    if (!exists || !size || !content) {
      ++tally_.failed;
      if (covered) ++tally_.caught;
      return;
    }
    Require(content->size() == *size, "a file is as long as it was said to be");
    if (*size > kMaxRead || read_ + *size > kMaxOfOne) {
      ++tally_.skipped;
      return;
    }
    read_ += *size;
    const Result<Verdict> equal = Compare(*content, covered ? &*info : nullptr);
    if (!equal) {
      ++tally_.failed;
      if (covered) ++tally_.caught;
      return;
    }
    ++tally_.files;
    if (!covered) {
      ++tally_.uncovered;
    } else if (*equal == Verdict::kPassed || *size == 0) {
      ++tally_.equal;
    } else if (*equal == Verdict::kFailed) {
      ++tally_.wrong;
      say_("'" + files.Path(node) + "' has " + info->checksum +
           " and holds what no undamaged file of that checksum does");
    }
  }

  /// Reads all of a file, and says whether it is what the reference has;
  /// kUnknown without one.
  Result<Verdict> Compare(const Content& content, const EntryInfo* info) {
    const bool compared = info != nullptr && reference_ != nullptr;
    const bool part = compared && info->kind == "chunk";
    const std::vector<std::string>* files =
        compared ? reference_->Files(info->checksum) : nullptr;
    std::vector<bool> equal(files != nullptr ? files->size() : 0, true);
    for (size_t i = 0; i < equal.size(); ++i) {
      equal[i] = (*files)[i].size() == content.size();
    }
    std::string whole;
    Window window;
    for (uint64_t at = 0; at < content.size() || at == 0;) {
      Status read = content.Read(at, limits::kMiB, cache_, window);
      if (!read) return std::move(read).error();
      uint64_t length = 0;
      for (const Bytes slice : window.slices()) {
        for (size_t i = 0; i < equal.size(); ++i) {
          equal[i] = equal[i] && (*files)[i].compare(at + length, slice.size(),
                                                     AsText(slice)) == 0;
        }
        if (part || files == nullptr) whole += AsText(slice);
        length += slice.size();
      }
      Require(length == std::min(limits::kMiB, content.size() - at),
              "a read is whole");
      at += limits::kMiB;
    }
    if (!compared) return Verdict::kUnknown;
    const bool good =
        std::find(equal.begin(), equal.end(), true) != equal.end() ||
        (part && reference_->IsPart(info->checksum, whole)) ||
        // Members of an archive that no reader opens are not in the reference.
        (files == nullptr && IsOf(info->checksum, AsBytes(whole)));
    return good ? Verdict::kPassed : Verdict::kFailed;
  }

  const OpenOptions& options_;
  const Reference* reference_;
  const std::function<void(const std::string&)>& say_;
  Tally& tally_;
  BlockCache cache_{kCacheBytes};
  uint64_t read_ = 0;
};

/// Adds the files that have checksums, of a container and those within it.
void AddFiles(const std::shared_ptr<const Source>& source,
              const OpenOptions& options, int depth, Reference& reference) {
  auto container = OpenContainer(source, options);
  if (!container) return;
  const ContainerTree container_tree(std::move(*container));
  BlockCache cache(kCacheBytes);
  std::map<std::string, std::pair<uint64_t, uint64_t>> spans;
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    if (container_tree.IsDirectory(node)) continue;
    const std::optional<EntryInfo> info =
        container_tree.Describe(node, LoneContext());
    if (!info || info->checksum.empty()) continue;
    if (info->kind == "chunk") {
      auto& span =
          spans.try_emplace(info->checksum, info->offset, 0).first->second;
      span.first = std::min(span.first, info->offset);
      span.second = std::max(span.second, info->offset + info->stored_size);
    }
    // Some checksums are of the bytes as they are stored. That those are
    // sealed, compressed, or lanes interleaved, is said where no checksum is:
    // damage there shows what is stored (docs/robustness.md, section 1).
    const Result<Buffer> stored = ReadBuffer(
        *source, info->offset, info->stored_size, "entry", Request());
    if (stored && IsOf(info->checksum, stored->span())) {
      reference.Add(info->checksum, std::string(AsText(stored->span())));
    }
    const Result<Content> content = container_tree.Open(node, cache);
    if (!content || content->size() > kMaxRead) continue;
    Result<std::string> bytes = ReadAll(*content, cache);
    if (bytes) reference.Add(info->checksum, std::move(*bytes));
  }
  for (const auto& [checksum, span] : spans) {
    const Result<Buffer> whole = ReadBuffer(
        *source, span.first, span.second - span.first, "chunk", Request());
    if (whole) {
      reference.AddWhole(checksum, std::string(AsText(whole->span())));
    }
  }
  if (depth == kMaxDepth) return;
  for (const ChildContainer& within : container_tree.sub_containers()) {
    if (!within.open_source) continue;  // has no bytes of its own
    auto inside = within.open_source(cache);
    if (inside) AddFiles(*inside, options, depth + 1, reference);
  }
}

}  // namespace

bool IsCovered(const EntryInfo& info) {
  return !info.checksum.empty() && info.kind != "merged" &&
         info.kind != "signs" && !info.extra.contains("repaired");
}

void Reference::Add(const std::string& checksum, std::string bytes) {
  std::vector<std::string>& files = files_[checksum];
  if (std::find(files.begin(), files.end(), bytes) == files.end()) {
    files.push_back(std::move(bytes));
  }
}

void Reference::AddWhole(const std::string& checksum,
                         const std::string& bytes) {
  wholes_[checksum].push_back(bytes);
}

const std::vector<std::string>* Reference::Files(
    const std::string& checksum) const {
  const auto found = files_.find(checksum);
  return found != files_.end() ? &found->second : nullptr;
}

bool Reference::IsPart(const std::string& checksum,
                       const std::string& bytes) const {
  const auto found = wholes_.find(checksum);
  return found != wholes_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const std::string& whole) {
                       return whole.find(bytes) != std::string::npos;
                     });
}

bool Reference::Holds(const EntryInfo& info, const std::string& bytes) const {
  const std::vector<std::string>* files = Files(info.checksum);
  if (files != nullptr &&
      std::find(files->begin(), files->end(), bytes) != files->end()) {
    return true;
  }
  return info.kind == "chunk" && IsPart(info.checksum, bytes);
}

Reference MakeReference(const std::vector<GoldenCase>& cases) {
  Reference reference;
  for (const GoldenCase& golden : cases) {
    const auto folder = std::make_shared<const MemoryFolder>(golden.files);
    auto source = folder->Open(golden.target);
    if (!source) continue;
    OpenOptions options = StrictOptions();
    AddFiles(*source, options, 0, reference);
    options.salvage = true;
    AddFiles(*source, options, 0, reference);
  }
  return reference;
}

void ReadThrough(Result<std::shared_ptr<const Source>> source,
                 const OpenOptions& options, const Reference* reference,
                 const std::function<void(const std::string&)>& say,
                 Tally& tally) {
  Reader reader(options, reference, say, tally);
  const bool opened = source && reader.Open(std::move(*source), 0);
  ++(opened ? tally.opened : tally.refused);
}

}  // namespace ctxfs
