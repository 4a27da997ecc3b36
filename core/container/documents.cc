// SPDX-License-Identifier: Apache-2.0
#include "core/container/documents.h"

#include <cstring>
#include <utility>

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

using OpenContent = std::function<Result<Content>(const ReadContext&)>;

class Opened final : public Single {
 public:
  Opened(Role role, std::string path, OpenContent open,
         std::optional<uint64_t> size, bool live)
      : Single(role, std::move(path)),
        open_(std::move(open)),
        size_(size),
        live_(live) {}

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    return open_(context);
  }
  std::optional<uint64_t> KnownSize(uint32_t /*file*/) const override {
    return size_;
  }
  bool live() const override { return live_; }

 private:
  const OpenContent open_;
  const std::optional<uint64_t> size_;
  const bool live_;
};

class KnownFile final : public Single {
 public:
  KnownFile(Role role, std::string path, Result<Content> content,
            std::optional<EntryInfo> info)
      : Single(role, std::move(path)),
        content_(std::move(content)),
        info_(std::move(info)) {}

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& /*context*/) const override {
    return content_;
  }
  std::optional<uint64_t> KnownSize(uint32_t /*file*/) const override {
    return content_ ? content_->size() : 0;
  }
  std::optional<EntryInfo> Describe(
      uint32_t /*file*/, const ReadContext& /*context*/) const override {
    return info_;
  }
  std::optional<Error> Fault(uint32_t /*file*/) const override {
    if (content_) return std::nullopt;
    return content_.error();
  }

 private:
  const Result<Content> content_;
  const std::optional<EntryInfo> info_;
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
                                        size, /*live=*/false);
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
                                        std::nullopt, live);
}

std::shared_ptr<const FileTable> FixedFile(Role role, std::string path,
                                           Content content,
                                           std::optional<EntryInfo> info) {
  return std::make_shared<const KnownFile>(role, std::move(path),
                                           std::move(content), std::move(info));
}

std::shared_ptr<const FileTable> RefusedFile(Role role, std::string path,
                                             Error why) {
  return std::make_shared<const KnownFile>(role, std::move(path),
                                           std::move(why), std::nullopt);
}

std::shared_ptr<const FileTable> AliasFile(
    Role role, std::string path, std::shared_ptr<const FileTable> table,
    uint32_t number) {
  return std::make_shared<const Alias>(role, std::move(path), std::move(table),
                                       number);
}

}  // namespace ctxfs
