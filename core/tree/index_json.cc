// SPDX-License-Identifier: Apache-2.0
#include "core/tree/index_json.h"

#include <algorithm>
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
  /// The text of entries [first, end).
  Result<std::string> Text(uint32_t first, uint32_t end,
                           const ReadContext& context);
  /// The end of the block that starts at `first`.
  uint32_t EndFrom(uint32_t first) const;
  /// Returns the container's metadata. It may be long, so while a thread uses
  /// the parsed metadata, other threads share it.
  Result<std::shared_ptr<const Json>> Metadata(const Request& request);

  const FileTable& entries() const { return *tree_.entries(); }

  const ContainerTree& tree_;
  const uint64_t owner_ = NewOwner();
  Mutex mutex_;
  std::weak_ptr<const Json> metadata_ CTXFS_GUARDED_BY(mutex_);
};

uint32_t IndexText::EndFrom(uint32_t first) const {
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

Result<std::string> IndexText::Text(uint32_t first, uint32_t end,
                                    const ReadContext& context) {
  // JSON repeats a name several times, as bytes and as hex digits.
  constexpr uint64_t kCopies = 8;
  const std::vector<NodeId> nodes = tree_.NodesOf(first, end);
  const std::shared_ptr<const Json> metadata = CTXFS_TRY(Metadata(context));
  std::string text = first == 0 ? "[" : "";
  size_t counted = 0;
  std::string scratch;
  for (uint32_t entry = first; entry < end; ++entry) {
    if (entry % kEntriesACheck == 0) {
      const size_t more = text.size() - std::exchange(counted, text.size());
      CTXFS_TRY(context.Check());
      CTXFS_TRY(context.Charge(more));
    }
    const uint64_t name = entries().Path(entry, scratch).value_or("").size();
    CTXFS_TRY(HeapAllowance::Admit(kCopies * name));
    EntryInfo info = entries().Describe(entry, context).value_or(EntryInfo{});
    if (info.incomplete) {
      return Error{Code::kIo, "the container cannot be read"};
    }
    tree_.container().Annotate(*metadata, info);
    CTXFS_TRY(AppendAdmitted(text, entry == 0 ? "\n" : ",\n"));
    Json object = EntryJson(info, tree_.Path(nodes[entry - first]));
    // The root stands for a directory, or for an entry that is not shown.
    if (nodes[entry - first] == NameTree::kRoot) object["path"] = nullptr;
    CTXFS_TRY(AppendAdmitted(text, JsonLine(object)));
  }
  if (end == entries().count()) CTXFS_TRY(AppendAdmitted(text, "\n]\n"));
  return text;
}

Result<Content> IndexText::Make(const ReadContext& context) {
  CTXFS_TRY(Metadata(context));
  Content content;
  uint32_t first = 0;
  do {
    const uint32_t end = EndFrom(first);
    const auto text = [self = shared_from_this(), first,
                       end](const ReadContext& request) {
      return self->Text(first, end, request);
    };
    const Content block =
        CTXFS_TRY(CachedText({owner_, first}, nullptr, text, context));
    content.Append(block);
    first = end;
  } while (first < entries().count());
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
