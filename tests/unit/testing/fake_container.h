// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/container.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/content/content.h"

namespace ctxfs {

inline Content TextContent(std::string text) {
  return LiteralContent(std::move(text));
}

/// A file that holds `text`, and that has to be opened to be measured.
inline std::shared_ptr<const FileTable> TextFile(std::string path,
                                                 std::string text,
                                                 Role role = Role::kPrimary,
                                                 bool live = false) {
  return FreshDocument(
      role, std::move(path),
      [text = std::move(text)](const ReadContext& /*context*/) {
        return Result<std::string>(text);
      },
      live);
}

/// A file that cannot be read.
inline std::shared_ptr<const FileTable> RefusedFile(Role role, std::string path,
                                                    Error why) {
  return OpenedFile(
      role, std::move(path),
      [why](const ReadContext& /*context*/) -> Result<Content> { return why; },
      {.size = 0, .fault = why});
}

/// Numbered files whose bytes are "of N", or what `text` makes.
inline std::shared_ptr<const FileTable> FakeNumbers(
    std::string directory, uint32_t count, Numbering numbering,
    std::string (*text)(uint32_t), bool sized = true) {
  return MakeTable(
      {.placement = {.directory = std::move(directory),
                     .numbering = std::move(numbering)},
       .count = count,
       .path = &NoPath,
       .open = [text](uint32_t file, const ReadContext& /*context*/)
           -> Result<Content> { return TextContent(text(file)); },
       .facts =
           [text, sized](uint32_t file) {
             return sized ? FileFacts{text(file).size()} : FileFacts();
           }});
}

/// A container of whatever a test wants: an entry's bytes are "of NAME".
class FakeContainer : public Container {
 public:
  using Names = std::vector<std::optional<std::string>>;

  explicit FakeContainer(Names names)
      : Container(std::make_shared<MemorySource>("the container's bytes")),
        names_(std::move(names)) {}

  using Container::Warn;

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "fake";
  }
  Tables Files() const override {
    Tables all = files;
    const Placement placement{
        .role = raw_entries ? Role::kRawEntries : Role::kEntries,
        .directory = directory,
        .shared = names_entries_itself,
        .may_nest = may_nest,
        .plain_paths = plain_paths};
    all.insert(all.begin(), EntryFiles(placement));
    return all;
  }
  std::vector<ChildContainer> Children() const override { return children; }

  bool names_entries_itself = false;
  bool may_nest = false;
  bool plain_paths = false;
  bool raw_entries = false;
  std::string directory;
  Tables files;
  std::vector<ChildContainer> children;

 private:
  std::shared_ptr<const FileTable> EntryFiles(Placement placement) const {
    const auto bytes_of = [names = names_](uint32_t entry) {
      return "of " + names[entry].value_or("(none)");
    };
    return MakeTable(
        {.placement = std::move(placement),
         .count = static_cast<uint32_t>(names_.size()),
         .path = [names = names_](uint32_t entry,
                                  std::string& scratch) -> std::string_view {
           if (!names[entry]) return UnnamedEntryPath(entry, scratch);
           return *names[entry];
         },
         .open = [bytes_of](uint32_t entry, const ReadContext& /*context*/)
             -> Result<Content> { return TextContent(bytes_of(entry)); },
         .facts =
             [bytes_of](uint32_t entry) {
               return FileFacts{bytes_of(entry).size()};
             },
         .describe =
             [names = names_, bytes_of](uint32_t entry,
                                        const ReadContext& /*context*/) {
               EntryInfo info;
               info.name = names[entry];
               info.kind = "entry";
               info.size = bytes_of(entry).size();
               return info;
             }});
  }

  Names names_;
};

}  // namespace ctxfs
