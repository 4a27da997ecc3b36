// SPDX-License-Identifier: Apache-2.0
//
// Counts the bytes of chunks, for arrays that are larger than anything declares
// without them (docs/formats/zarr.md, section 10).
#include <string>
#include <utility>
#include <vector>

#include "core/formats/zarr/limits.h"
#include "core/formats/zarr/zarr.h"

namespace ctxfs::zarr {

Result<uint64_t> BytesBelow(const Source& store, const std::string& path,
                            uint64_t enough, const ReadContext& context) {
  struct Open {
    std::string path;
    size_t depth;
  };
  std::vector<Open> open = {{path, 0}};
  uint64_t found = 0;
  while (!open.empty() && found < enough) {
    const Open at = std::move(open.back());
    open.pop_back();
    const auto entries = ListStore(store, at.path, context);
    if (!entries && entries.error().Permanent()) continue;
    if (!entries) return entries.error();
    for (const DirectoryEntry& entry : *entries) {
      if (found >= enough) break;
      CTXFS_TRY(context.CheckMemory());
      if (entry.link) continue;
      std::string name =
          at.path.empty() ? entry.name : at.path + "/" + entry.name;
      if (entry.directory) {
        // A chunk has a directory for each dimension, and one before them.
        if (at.depth <= limits::kRank) {
          open.push_back({std::move(name), at.depth + 1});
        }
        continue;
      }
      const Result<SourcePtr> file = store.OpenBeside(name, context);
      if (file) found += (*file)->size();
    }
  }
  return found;
}

}  // namespace ctxfs::zarr
