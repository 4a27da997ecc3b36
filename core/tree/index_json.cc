// SPDX-License-Identifier: Apache-2.0
#include "core/tree/index_json.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace ctxfs {
namespace {

/// JSON holds text; bytes that are none go into KEY_hex as well.
void PutText(Json& object, const char* key, const std::string& bytes) {
  object[key] = bytes;
  if (!IsUtf8(bytes)) object[std::string(key) + "_hex"] = Hex(bytes);
}

class IndexBlock final : public Block {
 public:
  IndexBlock(Key key, const Container& container, const Tree& tree)
      : Block(key), container_(container), tree_(tree) {}

  uint64_t cost() const override { return 0; }  // not known before it is made

  Result<Buffer> Produce() const override {
    std::vector<NodeId> nodes(container_.entry_count());
    for (NodeId node = 0; node < tree_.node_count(); ++node) {
      if (tree_.IsDirectory(node)) continue;
      const FileId file = tree_.File(node);
      if (file < nodes.size()) nodes[file] = node;
    }
    const Error store_failed{Code::kIo, "the container cannot be read"};
    const Json metadata = container_.Metadata();
    if (metadata.is_discarded()) return store_failed;
    std::string text = "[";
    for (uint32_t entry = 0; entry < nodes.size(); ++entry) {
      EntryInfo info = container_.Describe(entry);
      if (info.incomplete) return store_failed;
      container_.Annotate(metadata, info);
      text += entry == 0 ? "\n" : ",\n";
      text += EntryJson(info, tree_.Path(nodes[entry]))
                  .dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    text += "\n]\n";
    Buffer buffer(text.size());
    std::memcpy(buffer.data(), text.data(), text.size());
    return buffer;
  }

 private:
  const Container& container_;
  const Tree& tree_;
};

}  // namespace

Json EntryJson(const EntryInfo& info, const std::string& path) {
  Json object = info.extra;
  PutText(object, "path", path);
  object["name"] = nullptr;
  if (info.name) PutText(object, "name", *info.name);
  object["kind"] = info.kind;
  object["size"] = info.size;
  object["stored_size"] = info.stored_size;
  object["offset"] = info.offset;
  object["codec"] = info.codec;
  object["checksum"] = info.checksum;
  object["content_type"] = info.content_type;
  if (!info.dtype.empty()) object["dtype"] = info.dtype;
  if (info.shape) object["shape"] = *info.shape;
  if (!info.note.empty()) object["note"] = info.note;
  return object;
}

Result<Content> OpenIndexJson(Key key, const Container& container,
                              const Tree& tree, BlockCache& cache) {
  auto block = std::make_shared<const IndexBlock>(key, container, tree);
  Result<BlockCache::Pinned> text = cache.Get(*block);
  if (!text) return std::move(text).error();
  Content content;
  content.Append(Decoded{std::move(block), 0}, (*text)->size());
  return content;
}

}  // namespace ctxfs
