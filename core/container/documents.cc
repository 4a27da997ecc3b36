// SPDX-License-Identifier: Apache-2.0
#include "core/container/documents.h"

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/mutex.h"
#include "core/container/file_set.h"
#include "core/content/within_cache.h"

namespace ctxfs {
namespace {

class TextBlock final : public Block {
 public:
  TextBlock(Key key, std::shared_ptr<const Source> source, MakeText make)
      : Block(key), source_(std::move(source)), make_(std::move(make)) {}

  uint64_t cost() const override { return 0; }  // its size is not known yet
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Buffer buffer;
    CTXFS_TRY(WithinCache(context, [&](const ReadContext& request) -> Status {
      const std::string text = CTXFS_TRY(make_(request));
      CTXFS_TRY(HeapAllowance::Admit(text.size()));
      buffer = BufferOf(text);
      return {};
    }));
    return buffer;
  }

 private:
  std::shared_ptr<const Source> source_;
  MakeText make_;
};

/// A text that lives while its file is open. Its memory counts as memory of the
/// block cache.
struct KeptText {
  std::string text;
  BlockCache::Lease lease;
};

/// The path of a table's only file.
PathFunction Always(std::string path) {
  return [path = std::move(path)](uint32_t /*file*/, std::string& /*scratch*/) {
    return std::string_view(path);
  };
}

auto ForAny(OpenContent open) {
  return
      [open = std::move(open)](uint32_t /*file*/, const ReadContext& context) {
        return open(context);
      };
}

}  // namespace

Result<Content> CachedText(Key key, std::shared_ptr<const Source> source,
                           MakeText make, const ReadContext& context) {
  auto block = std::make_shared<const TextBlock>(key, std::move(source),
                                                 std::move(make));
  const BlockCache::Pinned text = CTXFS_TRY(context.Get(*block));
  const uint64_t size = text->size();
  return Content(Decoded{std::move(block), 0}, size);
}

std::shared_ptr<const FileTable> OpenedFile(Role role, std::string path,
                                            OpenContent open, FileFacts facts) {
  return MakeTable({.placement = {.role = role},
                    .path = Always(std::move(path)),
                    .open = ForAny(std::move(open)),
                    .facts = [facts = std::move(facts)](uint32_t /*file*/) {
                      return facts;
                    }});
}

std::shared_ptr<const FileTable> TextDocument(
    Role role, std::string path, Key key, std::shared_ptr<const Source> source,
    MakeText make, Cost cost) {
  auto open = [key, source = std::move(source),
               make = std::move(make)](const ReadContext& context) {
    return CachedText(key, source, make, context);
  };
  return OpenedFile(role, std::move(path), std::move(open),
                    {.size_cost = cost});
}

std::shared_ptr<const FileTable> FreshDocument(Role role, std::string path,
                                               MakeText make, bool live) {
  auto open =
      [make = std::move(make)](const ReadContext& context) -> Result<Content> {
    auto kept = std::make_shared<KeptText>();
    CTXFS_TRY(WithinCache(context, [&](const ReadContext& request) -> Status {
      kept->text = CTXFS_TRY(make(request));
      return {};
    }));
    kept->lease = CTXFS_TRY(context.cache().Lend(kept->text.capacity()));
    const uint64_t size = kept->text.size();
    const std::string* text = &kept->text;
    return Content(Literal{{std::move(kept), text}}, size);
  };
  return MakeTable({.placement = {.role = role, .live = live},
                    .path = Always(std::move(path)),
                    .open = ForAny(std::move(open))});
}

std::shared_ptr<const FileTable> KeptFile(Role role, std::string path,
                                          OpenContent make) {
  struct Kept {
    Mutex mutex;
    std::optional<Content> content CTXFS_GUARDED_BY(mutex);
  };
  auto open = [make = std::move(make), kept = std::make_shared<Kept>()](
                  const ReadContext& context) -> Result<Content> {
    {
      const MutexLock lock(kept->mutex);
      if (kept->content) return *kept->content;
    }
    Content content;
    Status made =
        WithinCache(context, [&](const ReadContext& request) -> Status {
          content = CTXFS_TRY(make(request));
          return {};
        });
    if (!made) return std::move(made).error();
    const MutexLock lock(kept->mutex);
    kept->content = content;
    return content;
  };
  return OpenedFile(role, std::move(path), std::move(open));
}

std::shared_ptr<const FileTable> FixedFile(Role role, std::string path,
                                           Content content,
                                           std::optional<EntryInfo> info) {
  const uint64_t size = content.size();
  return MakeTable(
      {.placement = {.role = role},
       .path = Always(std::move(path)),
       .open = [content = std::move(content)](uint32_t /*file*/,
                                              const ReadContext& /*context*/)
           -> Result<Content> { return content; },
       .facts = [size](uint32_t /*file*/) { return FileFacts{.size = size}; },
       .describe = [info = std::move(info)](
                       uint32_t /*file*/,
                       const ReadContext& /*context*/) { return info; }});
}

std::shared_ptr<const FileTable> AliasFile(
    Role role, std::string path, std::shared_ptr<const FileTable> table,
    uint32_t number) {
  const FileTable& files = *table;
  return MakeTable(
      {.placement = {.role = role},
       .path = Always(std::move(path)),
       .open =
           [&files, number](uint32_t /*file*/, const ReadContext& context) {
             return files.Open(number, context);
           },
       .facts = [&files,
                 number](uint32_t /*file*/) { return files.Facts(number); },
       .size =
           [&files, number](uint32_t /*file*/, const ReadContext& context) {
             return files.Size(number, context);
           },
       .owner = std::move(table)});
}

}  // namespace ctxfs
