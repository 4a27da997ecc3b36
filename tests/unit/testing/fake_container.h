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
#include "core/container/entry_file_table.h"
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
class Refused final : public FileTable {
 public:
  Refused(Role role, std::string path, Error why)
      : FileTable({.role = role}),
        path_(std::move(path)),
        why_(std::move(why)) {}

  uint32_t count() const override { return 1; }
  std::optional<std::string_view> Path(
      uint32_t /*file*/, std::string& /*scratch*/) const override {
    return path_;
  }
  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& /*context*/) const override {
    return why_;
  }
  std::optional<uint64_t> KnownSize(uint32_t /*file*/) const override {
    return 0;
  }
  std::optional<Error> Fault(uint32_t /*file*/) const override { return why_; }

 private:
  const std::string path_;
  const Error why_;
};

inline std::shared_ptr<const FileTable> RefusedFile(Role role, std::string path,
                                                    Error why) {
  return std::make_shared<const Refused>(role, std::move(path), std::move(why));
}

/// Numbered files whose bytes are "of N", or what `text` makes.
class FakeNumbers final : public FileTable {
 public:
  using Text = std::string (*)(uint32_t);

  FakeNumbers(std::string directory, uint32_t count, Numbering numbering,
              Text text, bool sized = true)
      : FileTable({.directory = std::move(directory),
                   .numbering = std::move(numbering)}),
        count_(count),
        text_(text),
        sized_(sized) {}

  uint32_t count() const override { return count_; }
  std::optional<std::string_view> Path(
      uint32_t /*file*/, std::string& /*scratch*/) const override {
    return std::nullopt;
  }
  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    return TextContent(text_(file));
  }
  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    if (!sized_) return std::nullopt;
    return text_(file).size();
  }

 private:
  const uint32_t count_;
  const Text text_;
  const bool sized_;
};

/// A container of whatever a test wants: an entry's bytes are "of NAME".
class FakeContainer : public Container {
 public:
  using Names = std::vector<std::optional<std::string>>;

  explicit FakeContainer(Names names)
      : Container(std::make_shared<MemorySource>("the container's bytes")),
        names_(std::move(names)) {}

  using Container::Warn;

  Json Info(const ReadContext& /*context*/) const override {
    return {{"format", "fake"}};
  }
  Tables Files() const override {
    Tables all = files;
    const Placement placement{
        .role = raw_entries ? Role::kRawEntries : Role::kEntries,
        .directory = directory,
        .shared = names_entries_itself,
        .may_nest = may_nest};
    all.insert(all.begin(), std::make_shared<const Table>(names_, placement));
    return all;
  }
  std::vector<ChildContainer> Children() const override { return children; }

  bool names_entries_itself = false;
  bool may_nest = false;
  bool raw_entries = false;
  std::string directory;
  Tables files;
  std::vector<ChildContainer> children;

 private:
  class Table final : public FileTable {
   public:
    Table(Names names, Placement placement)
        : FileTable(std::move(placement)), names_(std::move(names)) {}

    uint32_t count() const override {
      return static_cast<uint32_t>(names_.size());
    }
    std::optional<std::string_view> Path(uint32_t entry,
                                         std::string& scratch) const override {
      if (!names_[entry]) return UnnamedEntryPath(entry, scratch);
      return *names_[entry];
    }
    Result<Content> Open(uint32_t entry,
                         const ReadContext& /*context*/) const override {
      return TextContent(BytesOf(entry));
    }
    std::optional<uint64_t> KnownSize(uint32_t entry) const override {
      return BytesOf(entry).size();
    }
    std::optional<EntryInfo> Describe(
        uint32_t entry, const ReadContext& /*context*/) const override {
      EntryInfo info;
      info.name = names_[entry];
      info.kind = "entry";
      info.size = BytesOf(entry).size();
      return info;
    }

   private:
    std::string BytesOf(uint32_t entry) const {
      return "of " + names_[entry].value_or("(none)");
    }

    const Names names_;
  };

  Names names_;
};

}  // namespace ctxfs
