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

/// Texts generated from parts of a container, such as its records as JSON.
/// Their lengths are unknown before.
struct PartTexts {
  std::string_view noun;  // of a part, in messages: "record"
  std::shared_ptr<const Source> source;
  /// Bytes to decode for a part.
  std::function<uint64_t(uint32_t part)> bytes;
  /// Not empty, and deterministic.
  std::function<Result<std::string>(uint32_t part, const ReadContext&)> text;
};

/// The text of one part, under the owner's key `key`. Generates it.
Result<Content> PartText(std::shared_ptr<const PartTexts> texts, Key key,
                         uint32_t part, const ReadContext& context);

/// A file of all texts; those of parts [starts[k], starts[k + 1]) are generated
/// together: kLimit if these exceed limits::kDecodedBytes. Their sizes are
/// kept, so that only the first look-up generates all of them.
std::shared_ptr<const FileTable> JoinedTexts(
    Role role, std::string path, std::shared_ptr<const PartTexts> texts,
    std::vector<uint32_t> starts);

}  // namespace ctxfs
