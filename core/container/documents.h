// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/container/file_table.h"
#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs {

using MakeText = std::function<Result<std::string>(const ReadContext&)>;

using OpenContent = std::function<Result<Content>(const ReadContext&)>;

/// Text that `make` generates now, unless it is cached under `key`, and again
/// after an eviction. Reads fail with kStale when `source`, if not null, has
/// changed. `make` may read blocks through the cache, as long as none of them
/// depends on this text.
Result<Content> CachedText(Key key, std::shared_ptr<const Source> source,
                           MakeText make, const ReadContext& context);

/// Cost of computing the size of a text generated from `bytes` decoded bytes.
/// Listings include the sizes of small texts, which saves the kernel a request
/// for each.
constexpr Cost TextCost(uint64_t bytes) {
  return bytes <= 4 * limits::kKiB ? Cost::kSmallRead : Cost::kDecode;
}

// Tables of one file, at `path` below the directory of `role`.

/// A file whose text (CachedText) is generated when its size or its bytes are
/// first needed. `cost` is the cost of generating the text.
std::shared_ptr<const FileTable> TextDocument(
    Role role, std::string path, Key key, std::shared_ptr<const Source> source,
    MakeText make, Cost cost = Cost::kDecode);

/// A file whose text is generated at each open. `live`: the text may differ
/// each time, so the kernel must not cache it.
std::shared_ptr<const FileTable> FreshDocument(Role role, std::string path,
                                               MakeText make,
                                               bool live = false);

/// A file whose content `open` returns. `open` is called at each open.
std::shared_ptr<const FileTable> OpenedFile(Role role, std::string path,
                                            OpenContent open,
                                            FileFacts facts = {});

/// A file whose content `make` generates at the first open. If that succeeds,
/// later opens use the same content; otherwise they try again.
std::shared_ptr<const FileTable> KeptFile(Role role, std::string path,
                                          OpenContent make);

/// A file with fixed content.
std::shared_ptr<const FileTable> FixedFile(
    Role role, std::string path, Content content,
    std::optional<EntryInfo> info = std::nullopt);

/// File `number` of `table` under another path, without its description.
std::shared_ptr<const FileTable> AliasFile(
    Role role, std::string path, std::shared_ptr<const FileTable> table,
    uint32_t number);

}  // namespace ctxfs
