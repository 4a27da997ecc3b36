// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Files of a format's making that are too many to be OwnFiles: one for each
/// entry, chunk or column. They are numbered from 0 and cost the nodes of their
/// names; what is in them, and whether they are there at all, is found out when
/// someone asks. Immutable.
class DerivedFiles {
 public:
  DerivedFiles() = default;
  virtual ~DerivedFiles() = default;
  DerivedFiles(const DerivedFiles&) = delete;
  DerivedFiles& operator=(const DerivedFiles&) = delete;

  virtual uint32_t count() const = 0;

  /// Where the file is, made safe like an entry's name; nothing for a number
  /// that no file has. Asked once, when the tree is made: reads nothing.
  virtual std::optional<std::string> Path(uint32_t file) const = 0;

  /// Whether the file is there, where that takes reading to know. `listing`:
  /// asked for a directory's listing, which is not to decode anything.
  virtual Result<bool> Exists(uint32_t /*file*/, bool /*listing*/,
                              const ReadContext& /*context*/) const {
    return true;
  }

  /// Whether Size takes a small read at the most: listings ask only then.
  virtual bool SizeIsCheap(uint32_t /*file*/) const { return true; }

  /// Length of the file in bytes; 0 for one that cannot be read.
  virtual Result<uint64_t> Size(uint32_t file,
                                const ReadContext& context) const = 0;

  /// What its extended attributes say; decodes nothing.
  virtual EntryInfo Describe(uint32_t /*file*/) const { return {}; }

  virtual Result<Content> Open(uint32_t file,
                               const ReadContext& context) const = 0;
};

}  // namespace ctxfs
