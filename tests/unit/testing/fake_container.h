// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/container.h"
#include "core/content/content.h"

namespace ctxfs {

inline Content TextContent(std::string text) {
  auto shared = std::make_shared<const std::string>(std::move(text));
  const uint64_t size = shared->size();
  Content content;
  content.Append(Literal{std::move(shared)}, size);
  return content;
}

/// A file of ours that says `text`.
inline OwnFile TextFile(std::string path, std::string text) {
  OwnFile file;
  file.path = std::move(path);
  file.open = [text](const ReadContext& /*context*/) -> Result<Content> {
    return TextContent(text);
  };
  return file;
}

/// A container of whatever a test wants: an entry's bytes are "of NAME".
class FakeContainer : public Container {
 public:
  explicit FakeContainer(std::vector<std::optional<std::string>> names)
      : Container(std::make_shared<MemorySource>("the container's bytes")),
        names_(std::move(names)) {}

  Json Info(const ReadContext& /*context*/) const override {
    return {{"format", "fake"}};
  }
  uint32_t entry_count() const override {
    return static_cast<uint32_t>(names_.size());
  }
  std::optional<std::string_view> EntryName(uint32_t entry) const override {
    return names_[entry];
  }
  uint64_t EntrySize(uint32_t entry) const override {
    return BytesOf(entry).size();
  }
  EntryInfo Describe(uint32_t entry) const override {
    EntryInfo info;
    info.name = names_[entry];
    info.kind = "entry";
    info.size = EntrySize(entry);
    return info;
  }
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& /*context*/) const override {
    return TextContent(BytesOf(entry));
  }
  std::string_view EntryDirectory() const override { return directory; }
  std::vector<OwnFile> OwnFiles() const override { return own_files; }
  std::vector<SubContainer> SubContainers() const override {
    return sub_containers;
  }

  std::vector<NumberedFiles> Numbered() const override { return numbered; }
  bool NamesEntriesItself() const override { return names_entries_itself; }

  bool names_entries_itself = false;
  std::vector<NumberedFiles> numbered;
  std::string directory;
  std::vector<OwnFile> own_files;
  std::vector<SubContainer> sub_containers;

 private:
  std::string BytesOf(uint32_t entry) const {
    return "of " + names_[entry].value_or("(none)");
  }

  std::vector<std::optional<std::string>> names_;
};

}  // namespace ctxfs
