// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/container/documents.h"
#include "core/content/made_once.h"

namespace ctxfs {

/// Returns a table of one file, whose content is made at its first look-up, and
/// never for a listing.
inline std::shared_ptr<const FileTable> MeasuredFile(std::string path,
                                                     MadeOnce::Make make) {
  auto content = std::make_shared<const MadeOnce>(std::move(make));
  return OpenedFile(
      Role::kPrimary, std::move(path),
      [content](const ReadContext& context) { return content->Get(context); });
}

}  // namespace ctxfs
