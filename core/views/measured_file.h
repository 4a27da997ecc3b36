// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/container/documents.h"
#include "core/views/made_once.h"

namespace ctxfs {

/// A table of one file whose content is made when it is first looked up, never
/// for a listing, and then kept.
inline std::shared_ptr<const FileTable> MeasuredFile(
    std::string path, MadeOnce<Content>::Make make) {
  auto content = std::make_shared<const MadeOnce<Content>>(std::move(make));
  return OpenedFile(Role::kPrimary, std::move(path),
                    [content](const ReadContext& context) -> Result<Content> {
                      const Result<const Content*> made = content->Get(context);
                      if (!made) return made.error();
                      return **made;
                    });
}

}  // namespace ctxfs
