// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

class ContainerTree;

/// `.ctxfs/index.json` (docs/tree.md, section 5): an array of one object per
/// entry, in index order, one per line. Made in blocks of many entries, so that
/// ten million entries take no more memory than one block; the sizes of blocks
/// are kept.
class IndexJson final : public FileTable {
 public:
  /// `tree` outlives this table and its contents, and is not read before the
  /// first Open.
  explicit IndexJson(const ContainerTree& tree);
  ~IndexJson() override;

  uint32_t count() const override { return 1; }
  std::optional<std::string_view> Path(
      uint32_t /*file*/, std::string& /*scratch*/) const override {
    return "index.json";
  }
  /// The first call makes all of it, to find its size.
  Result<Content> Open(uint32_t file,
                       const ReadContext& context) const override;

 private:
  class Shared;
  const std::shared_ptr<Shared> shared_;
};

/// Puts `bytes` into `object`. JSON holds text: bytes that are none go into
/// KEY_hex as well.
void PutText(Json& object, const char* key, const std::string& bytes);

/// The object of one entry.
Json EntryJson(const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
