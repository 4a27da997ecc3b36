// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/container/entry.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A directory of files that are all alike but for their number, 0 to
/// `count` - 1: blocks, gists, frames. Names and files are computed when asked
/// for; nothing of them is stored, so a hundred million cost what one does.
struct NumberedFiles {
  std::string path;     // of the directory, made safe like an entry's name
  uint32_t count = 0;   // below UINT32_MAX
  unsigned digits = 6;  // a name has at least so many: "000042"
  std::string suffix;   // what follows the number, such as ".png"
  /// Bytes of a file; null where it has to be opened to be measured.
  std::function<uint64_t(uint32_t file)> size;
  std::function<Result<Content>(uint32_t file, const ReadContext& context)>
      open;
  /// What its extended attributes say, where there is something to say.
  std::function<EntryInfo(uint32_t file)> describe = nullptr;
};

}  // namespace ctxfs
