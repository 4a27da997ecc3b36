// SPDX-License-Identifier: Apache-2.0
#include "core/tree/index_json.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/tree/container_tree.h"

namespace ctxfs {
namespace {

// What a block is made of: so many entries, or so many bytes of their names,
// which JSON may say sixteen times as long.
constexpr uint32_t kEntriesABlock = 65'536;
constexpr uint64_t kNamesABlock = 4 * limits::kMiB;
// Entries between two questions whether to give up.
constexpr uint32_t kEntriesACheck = 256;

/// Counts what `text` has grown by since the last call.
Status Count(const std::string& text, size_t& counted,
             const ReadContext& context) {
  if (Status wanted = context.Check(); !wanted) return wanted;
  const size_t more = text.size() - counted;
  counted = text.size();
  return context.Spend(more);
}

}  // namespace

/// What the blocks have in common. Safe for any number of threads.
class IndexJson::Shared : public std::enable_shared_from_this<Shared> {
 public:
  explicit Shared(const ContainerTree& tree) : tree_(tree) {}

  Result<Content> Open(const ReadContext& context);

  /// The text of entries [first, end).
  Result<std::string> Text(uint32_t first, uint32_t end,
                           const ReadContext& context);

 private:
  class Block;
  struct Part {
    uint32_t end;   // of its entries
    uint64_t size;  // of its text, in bytes
  };

  /// Where the next block ends.
  uint32_t EndFrom(uint32_t first) const;
  /// Parsed once while someone holds it: it may be long.
  Result<std::shared_ptr<const Json>> Metadata();
  std::shared_ptr<const Block> BlockOf(uint32_t first, uint32_t end);

  const FileTable& entries() const { return *tree_.entries(); }

  const ContainerTree& tree_;
  const uint64_t owner_ = NewOwner();
  Mutex mutex_;
  std::weak_ptr<const Json> metadata_ CTXFS_GUARDED_BY(mutex_);
  std::vector<Part> parts_ CTXFS_GUARDED_BY(mutex_);  // empty: not yet known
};

class IndexJson::Shared::Block final : public ctxfs::Block {
 public:
  Block(Key key, std::shared_ptr<Shared> shared, uint32_t end)
      : ctxfs::Block(key), shared_(std::move(shared)), end_(end) {}

  uint64_t cost() const override { return 0; }  // not known before it is made

  Result<Buffer> Produce(const ReadContext& context) const override {
    const Result<std::string> text =
        shared_->Text(static_cast<uint32_t>(key().index), end_, context);
    if (!text) return text.error();
    Buffer buffer(text->size());
    std::memcpy(buffer.data(), text->data(), text->size());
    return buffer;
  }

 private:
  std::shared_ptr<Shared> shared_;
  uint32_t end_;
};

uint32_t IndexJson::Shared::EndFrom(uint32_t first) const {
  const uint32_t count = entries().count();
  const uint32_t most = first + std::min(count - first, kEntriesABlock);
  uint64_t names = 0;
  uint32_t end = first;
  std::string scratch;
  while (end < most && names <= kNamesABlock) {
    names += entries().Path(end++, scratch).value_or("").size();
  }
  return end;
}

Result<std::shared_ptr<const Json>> IndexJson::Shared::Metadata() {
  {
    const MutexLock lock(mutex_);
    if (auto known = metadata_.lock()) return known;
  }
  auto parsed = std::make_shared<const Json>(tree_.container().Metadata());
  if (parsed->is_discarded()) {
    return Error{Code::kIo, "the container cannot be read"};
  }
  const MutexLock lock(mutex_);
  metadata_ = parsed;
  return parsed;
}

Result<std::string> IndexJson::Shared::Text(uint32_t first, uint32_t end,
                                            const ReadContext& context) {
  std::vector<NodeId> nodes(end - first);
  const NameTree& names = tree_.tree();
  for (NodeId node = 0; node < names.node_count(); ++node) {
    if (names.IsDirectory(node)) continue;
    const FileId file = names.File(node);
    if (file >= first && file < end) nodes[file - first] = node;
  }
  const Result<std::shared_ptr<const Json>> metadata = Metadata();
  if (!metadata) return metadata.error();
  std::string text = first == 0 ? "[" : "";
  size_t counted = 0;
  for (uint32_t entry = first; entry < end; ++entry) {
    if (entry % kEntriesACheck == 0) {
      Status may = Count(text, counted, context);
      if (!may) return std::move(may).error();
    }
    EntryInfo info = entries().Describe(entry, context).value_or(EntryInfo{});
    if (info.incomplete) {
      return Error{Code::kIo, "the container cannot be read"};
    }
    tree_.container().Annotate(**metadata, info);
    text += entry == 0 ? "\n" : ",\n";
    Json object = EntryJson(info, tree_.Path(nodes[entry - first]));
    // A directory, or an entry that is not shown.
    if (nodes[entry - first] == NameTree::kRoot) object["path"] = nullptr;
    text += JsonLine(object);
  }
  if (end == entries().count()) text += "\n]\n";
  return text;
}

std::shared_ptr<const IndexJson::Shared::Block> IndexJson::Shared::BlockOf(
    uint32_t first, uint32_t end) {
  return std::make_shared<const Block>(Key{owner_, first}, shared_from_this(),
                                       end);
}

Result<Content> IndexJson::Shared::Open(const ReadContext& context) {
  std::vector<Part> parts;
  {
    const MutexLock lock(mutex_);
    parts = parts_;
  }
  if (parts.empty()) {
    const Result<std::shared_ptr<const Json>> held = Metadata();
    if (!held) return held.error();
    uint32_t first = 0;
    do {
      const uint32_t end = EndFrom(first);
      const Result<BlockCache::Pinned> made = context.Get(*BlockOf(first, end));
      if (!made) return made.error();
      parts.push_back({end, (*made)->size()});
      first = end;
    } while (first < entries().count());
    const MutexLock lock(mutex_);
    parts_ = parts;
  }
  Content content;
  uint32_t first = 0;
  for (const Part& part : parts) {
    content.Append(Decoded{BlockOf(first, part.end), 0}, part.size);
    first = part.end;
  }
  return content;
}

IndexJson::IndexJson(const ContainerTree& tree)
    : FileTable({.role = Role::kMetadata}),
      shared_(std::make_shared<Shared>(tree)) {}

IndexJson::~IndexJson() = default;

Result<Content> IndexJson::Open(uint32_t /*file*/,
                                const ReadContext& context) const {
  return shared_->Open(context);
}

void PutText(Json& object, const char* key, const std::string& bytes) {
  object[key] = bytes;
  if (!IsUtf8(bytes)) object[std::string(key) + "_hex"] = Hex(bytes);
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
