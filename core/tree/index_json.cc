// SPDX-License-Identifier: Apache-2.0
#include "core/tree/index_json.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/container/documents.h"
#include "core/container/put_text.h"
#include "core/tree/container_tree.h"

namespace ctxfs {
namespace {

// Maximum entries of a block, and maximum bytes of their names. JSON may
// lengthen a name sixteenfold.
constexpr uint32_t kEntriesABlock = 16'384;
constexpr uint64_t kNamesABlock = 4 * limits::kMiB;
// Entries between two checks for an interrupt.
constexpr uint32_t kEntriesACheck = 256;

/// Shared by all blocks. Safe for any number of threads.
class IndexText : public std::enable_shared_from_this<IndexText> {
 public:
  explicit IndexText(const ContainerTree& tree) : tree_(tree) {}

  Result<Content> Make(const ReadContext& context);

 private:
  /// A table of entries. If they are numbered, they have no nodes of the tree
  /// but are in a directory of it.
  struct Entries {
    const FileTable* table;
    uint64_t start;  // the number of entries in earlier tables
    const NumberedDirectory* numbered = nullptr;
    std::string directory = {};

    /// The path of an entry; nullopt for one that is not shown. `nodes` are
    /// those of entries from `first` on that are not numbered.
    std::optional<std::string> PathOf(uint32_t entry, uint32_t first,
                                      const ContainerTree& tree,
                                      const std::vector<NodeId>& nodes) const;
  };

  /// All tables of entries, with the names of numbered ones.
  Result<std::vector<Entries>> Tables(const ReadContext& context) const;
  /// Appends the blocks of a table.
  Status Append(const std::shared_ptr<const Entries>& entries, Content& content,
                const ReadContext& context);
  /// The text of entries [first, end).
  Result<std::string> Text(const Entries& entries, uint32_t first, uint32_t end,
                           const ReadContext& context);
  /// The end of the block that starts at `first`.
  static uint32_t EndFrom(const FileTable& entries, uint32_t first);
  /// The length of an entry's name.
  static size_t NameSize(const FileTable& entries, uint32_t entry,
                         std::string& scratch);
  /// Returns the container's metadata. It may be long, so while a thread uses
  /// the parsed metadata, other threads share it.
  Result<std::shared_ptr<const Json>> Metadata(const Request& request);

  const ContainerTree& tree_;
  const uint64_t owner_ = NewOwner();
  Mutex mutex_;
  std::weak_ptr<const Json> metadata_ CTXFS_GUARDED_BY(mutex_);
};

std::optional<std::string> IndexText::Entries::PathOf(
    uint32_t entry, uint32_t first, const ContainerTree& tree,
    const std::vector<NodeId>& nodes) const {
  if (numbered != nullptr) return directory + "/" + numbered->Path(entry + 1);
  const NodeId node = nodes[entry - first];
  // The root stands for a directory, or for an entry that is not shown.
  if (node == NameTree::kRoot) return std::nullopt;
  return tree.Path(node);
}

Result<std::vector<IndexText::Entries>> IndexText::Tables(
    const ReadContext& context) const {
  std::vector<Entries> tables = {{tree_.entries().get(), 0}};
  for (const NodeId directory : tree_.NumberedDirectories()) {
    const NumberedDirectory& numbered = *tree_.Numbered(directory);
    if (!HoldsEntries(numbered.table().placement().role)) continue;
    CTXFS_TRY(numbered.FindNames(context));
    tables.push_back({&numbered.table(),
                      tables.back().start + tables.back().table->count(),
                      &numbered, tree_.Path(directory)});
  }
  return tables;
}

size_t IndexText::NameSize(const FileTable& entries, uint32_t entry,
                           std::string& scratch) {
  if (entries.placement().numbering) return 0;  // it has no name but its number
  return entries.Path(entry, scratch).value_or("").size();
}

uint32_t IndexText::EndFrom(const FileTable& entries, uint32_t first) {
  const uint32_t count = entries.count();
  const uint32_t most = first + std::min(count - first, kEntriesABlock);
  uint64_t names = 0;
  uint32_t end = first;
  std::string scratch;
  while (end < most && names <= kNamesABlock) {
    names += NameSize(entries, end++, scratch);
  }
  return end;
}

Result<std::shared_ptr<const Json>> IndexText::Metadata(
    const Request& request) {
  {
    const MutexLock lock(mutex_);
    if (auto known = metadata_.lock()) return known;
  }
  auto parsed =
      std::make_shared<const Json>(tree_.container().Metadata(request));
  if (parsed->is_discarded()) {
    return Error{Code::kIo, "the container cannot be read"};
  }
  // If memory was refused, `parsed` is incomplete and must not be kept.
  CTXFS_TRY(request.CheckMemory());
  const MutexLock lock(mutex_);
  metadata_ = parsed;
  return parsed;
}

Result<std::string> IndexText::Text(const Entries& entries, uint32_t first,
                                    uint32_t end, const ReadContext& context) {
  // JSON repeats a name several times, as bytes and as hex digits.
  constexpr uint64_t kCopies = 8;
  const bool numbered = entries.numbered != nullptr;
  const std::vector<NodeId> nodes =
      numbered ? std::vector<NodeId>() : tree_.NodesOf(first, end);
  const std::shared_ptr<const Json> metadata = CTXFS_TRY(Metadata(context));
  std::string text;
  size_t counted = 0;
  std::string scratch;
  for (uint32_t entry = first; entry < end; ++entry) {
    if (entry % kEntriesACheck == 0) {
      const size_t more = text.size() - std::exchange(counted, text.size());
      CTXFS_TRY(context.Check());
      CTXFS_TRY(context.Charge(more));
    }
    CTXFS_TRY(HeapAllowance::Admit(kCopies *
                                   NameSize(*entries.table, entry, scratch)));
    EntryInfo info =
        entries.table->Describe(entry, context).value_or(EntryInfo{});
    if (info.incomplete) {
      return Error{Code::kIo, "the container cannot be read"};
    }
    tree_.container().Annotate(*metadata, info);
    const bool is_first = entries.start + entry == 0;
    CTXFS_TRY(AppendAdmitted(text, is_first ? "\n" : ",\n"));
    const auto path = entries.PathOf(entry, first, tree_, nodes);
    Json object = EntryJson(info, path.value_or(""));
    if (!path) object["path"] = nullptr;
    CTXFS_TRY(AppendAdmitted(text, JsonLine(object)));
  }
  return text;
}

Status IndexText::Append(const std::shared_ptr<const Entries>& entries,
                         Content& content, const ReadContext& context) {
  for (uint32_t first = 0; first < entries->table->count();) {
    const uint32_t end = EndFrom(*entries->table, first);
    const auto text = [self = shared_from_this(), entries, first,
                       end](const ReadContext& request) {
      return self->Text(*entries, first, end, request);
    };
    const Content block = CTXFS_TRY(
        CachedText({owner_, entries->start + first}, nullptr, text, context));
    content.Append(block);
    first = end;
  }
  return {};
}

Result<Content> IndexText::Make(const ReadContext& context) {
  CTXFS_TRY(Metadata(context));
  Content content = LiteralContent("[");
  for (Entries& entries : CTXFS_TRY(Tables(context))) {
    CTXFS_TRY(Append(std::make_shared<const Entries>(std::move(entries)),
                     content, context));
  }
  content.Append(LiteralContent("\n]\n"));
  return content;
}

}  // namespace

std::shared_ptr<const FileTable> IndexJson(const ContainerTree& tree) {
  return KeptFile(
      Role::kMetadata, "index.json",
      [text = std::make_shared<IndexText>(tree)](const ReadContext& context) {
        return text->Make(context);
      });
}

Json EntryJson(const EntryInfo& info, const std::string& path) {
  Json object = info.extra;
  PutText(object, "path", path);
  object["name"] = nullptr;
  if (info.name) PutText(object, "name", *info.name);
  object["kind"] = info.kind;
  object["size"] = info.size;
  object["stored_size"] = info.stored_size;
  object["offset"] = nullptr;
  if (info.offset != kNoOffset) object["offset"] = info.offset;
  object["codec"] = info.codec;
  object["checksum"] = info.checksum;
  object["content_type"] = info.content_type;
  if (!info.dtype.empty()) object["dtype"] = info.dtype;
  if (info.shape) object["shape"] = *info.shape;
  if (!info.note.empty()) object["note"] = info.note;
  return object;
}

}  // namespace ctxfs
