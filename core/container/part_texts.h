// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/file_table.h"
#include "core/content/content.h"

namespace ctxfs {

/// Texts generated from parts of a container, such as its records as JSON. The
/// length of a text is known only after it was generated.
struct PartTexts {
  std::string_view noun;  // of a part, in messages: "record"
  std::shared_ptr<const Source> source;
  /// Number of bytes to decode for a part.
  std::function<uint64_t(uint32_t part)> bytes;
  /// Generates the text of a part. It must not be empty, and must be the same
  /// each time.
  std::function<Result<std::string>(uint32_t part, const ReadContext&)> text;
};

/// Generates the text of one part. The text is cached as a block with the key
/// `key`.
Result<Content> PartText(std::shared_ptr<const PartTexts> texts, Key key,
                         uint32_t part, const ReadContext& context);

/// A file of all texts. The texts of parts [starts[k], starts[k + 1]) are
/// generated together as one block; reading fails with kLimit if a block
/// exceeds limits::kDecodedBytes. The table stores the sizes of blocks, so only
/// the first look-up generates all blocks.
std::shared_ptr<const FileTable> JoinedTexts(
    Role role, std::string path, std::shared_ptr<const PartTexts> texts,
    std::vector<uint32_t> starts);

}  // namespace ctxfs
