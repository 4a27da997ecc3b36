// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// `.ctxfs/index.json` (docs/tree.md, section 2): an array of one object an
/// entry, in index order, each on a line. Made in blocks of many entries, so
/// that ten million of them take no more memory than that; how long the blocks
/// turn out to be is kept.
class IndexJson {
 public:
  /// `container` and `tree` outlive this and its contents; neither is looked at
  /// before the first Open.
  IndexJson(const Container& container, const Tree& tree);
  ~IndexJson();
  IndexJson(const IndexJson&) = delete;
  IndexJson& operator=(const IndexJson&) = delete;

  /// The first time makes all of it, to know how long it is.
  Result<Content> Open(const ReadContext& context) const;

 private:
  class Shared;
  const std::shared_ptr<Shared> shared_;
};

/// One entry's object: what index.json has, and `ctxfs info`.
Json EntryJson(const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
