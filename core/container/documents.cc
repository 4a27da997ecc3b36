// SPDX-License-Identifier: Apache-2.0
#include "core/container/documents.h"

#include <cstring>
#include <utility>

#include "core/base/mutex.h"

namespace ctxfs {
namespace {

class TextBlock final : public Block {
 public:
  TextBlock(Key key, std::shared_ptr<const Source> source, MakeText make)
      : Block(key), source_(std::move(source)), make_(std::move(make)) {}

  uint64_t cost() const override { return 0; }  // unknown until it is made
  const Source* made_from() const override { return source_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    const Result<std::string> text = make_(context);
    if (!text) return text.error();
    Buffer buffer(text->size());
    if (!text->empty()) std::memcpy(buffer.data(), text->data(), text->size());
    return buffer;
  }

 private:
  std::shared_ptr<const Source> source_;
  MakeText make_;
};

/// A table of one file.
class Single : public FileTable {
 public:
  Single(Role role, std::string path)
      : FileTable({.role = role}), path_(std::move(path)) {}

  uint32_t count() const final { return 1; }
  std::optional<std::string_view> Path(uint32_t /*file*/,
                                       std::string& /*scratch*/) const final {
    return path_;
  }

 private:
  const std::string path_;
};

class Opened final : public Single {
 public:
  /// What is known of the file before it is opened.
  struct Known {
    std::optional<uint64_t> size = std::nullopt;
    std::optional<EntryInfo> info = std::nullopt;
    bool live = false;
  };

  Opened(Role role, std::string path, OpenContent open, Known known)
      : Single(role, std::move(path)),
        open_(std::move(open)),
        known_(std::move(known)) {}

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    return open_(context);
  }
  std::optional<uint64_t> KnownSize(uint32_t /*file*/) const override {
    return known_.size;
  }
  std::optional<EntryInfo> Describe(
      uint32_t /*file*/, const ReadContext& /*context*/) const override {
    return known_.info;
  }
  bool live() const override { return known_.live; }

 private:
  const OpenContent open_;
  const Known known_;
};

class Alias final : public Single {
 public:
  Alias(Role role, std::string path, std::shared_ptr<const FileTable> table,
        uint32_t number)
      : Single(role, std::move(path)),
        table_(std::move(table)),
        number_(number) {}

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    return table_->Open(number_, context);
  }
  std::optional<uint64_t> KnownSize(uint32_t /*file*/) const override {
    return table_->KnownSize(number_);
  }
  Result<uint64_t> Size(uint32_t /*file*/,
                        const ReadContext& context) const override {
    return table_->Size(number_, context);
  }
  Cost size_cost(uint32_t /*file*/) const override {
    return table_->size_cost(number_);
  }
  std::optional<Error> Fault(uint32_t /*file*/) const override {
    return table_->Fault(number_);
  }

 private:
  const std::shared_ptr<const FileTable> table_;
  const uint32_t number_;
};

}  // namespace

Result<Content> CachedText(Key key, std::shared_ptr<const Source> source,
                           MakeText make, const ReadContext& context) {
  auto block = std::make_shared<const TextBlock>(key, std::move(source),
                                                 std::move(make));
  const Result<BlockCache::Pinned> text = context.Get(*block);
  if (!text) return text.error();
  const uint64_t size = (*text)->size();
  return Content(Decoded{std::move(block), 0}, size);
}

std::shared_ptr<const FileTable> OpenedFile(Role role, std::string path,
                                            OpenContent open,
                                            std::optional<uint64_t> size) {
  return std::make_shared<const Opened>(role, std::move(path), std::move(open),
                                        Opened::Known{.size = size});
}

std::shared_ptr<const FileTable> TextDocument(
    Role role, std::string path, Key key, std::shared_ptr<const Source> source,
    MakeText make) {
  return OpenedFile(role, std::move(path),
                    [key, source = std::move(source),
                     make = std::move(make)](const ReadContext& context) {
                      return CachedText(key, source, make, context);
                    });
}

std::shared_ptr<const FileTable> FreshDocument(Role role, std::string path,
                                               MakeText make, bool live) {
  const auto open =
      [make = std::move(make)](const ReadContext& context) -> Result<Content> {
    Result<std::string> text = make(context);
    if (!text) return std::move(text).error();
    return LiteralContent(std::move(*text));
  };
  return std::make_shared<const Opened>(role, std::move(path), open,
                                        Opened::Known{.live = live});
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
    Result<Content> made = make(context);
    if (!made) return made;
    const MutexLock lock(kept->mutex);
    kept->content = *made;
    return made;
  };
  return OpenedFile(role, std::move(path), std::move(open));
}

std::shared_ptr<const FileTable> FixedFile(Role role, std::string path,
                                           Content content,
                                           std::optional<EntryInfo> info) {
  const uint64_t size = content.size();
  auto open = [content = std::move(content)](
                  const ReadContext& /*context*/) -> Result<Content> {
    return content;
  };
  return std::make_shared<const Opened>(
      role, std::move(path), std::move(open),
      Opened::Known{.size = size, .info = std::move(info)});
}

std::shared_ptr<const FileTable> AliasFile(
    Role role, std::string path, std::shared_ptr<const FileTable> table,
    uint32_t number) {
  return std::make_shared<const Alias>(role, std::move(path), std::move(table),
                                       number);
}

}  // namespace ctxfs
