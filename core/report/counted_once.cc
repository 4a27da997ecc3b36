// SPDX-License-Identifier: Apache-2.0
#include "core/report/counted_once.h"

#include <map>

#include "core/container/elements.h"
#include "core/container/entry.h"
#include "core/container/interfaces/has_parts.h"

namespace ctxfs {

CountedOnce::Sums CountedOnce::Add(const Container& container) {
  const std::shared_ptr<const FileTable> entries = container.Entries();
  Sums sums;
  std::map<File, bool> counted;  // files of the container
  const auto is_counted = [&](const FileIdentity& identity,
                              uint64_t stored_size) {
    // Sources without an identity are no files, so nothing else shows them.
    if (identity.SameFile({})) return false;
    const File file{identity.device, identity.inode};
    const auto [known, added] = counted.try_emplace(file, false);
    if (!added) return known->second;
    known->second = !files_.insert(file).second;
    if (known->second) {
      sums.stored_bytes = AddUpTo(sums.stored_bytes, stored_size);
    }
    return known->second;
  };
  const auto is_file_counted = [&](const Source& file) {
    return is_counted(file.identity(), file.stored_size());
  };
  (void)is_file_counted(*container.source());
  const auto* const whole = dynamic_cast<const HasParts*>(&container);
  if (whole != nullptr) {
    for (const HasParts::PartFile& part : whole->OtherFiles()) {
      (void)is_counted(part.identity, part.stored_size);
    }
  }
  const Source* last = nullptr;
  bool last_is_counted = false;
  for (uint32_t entry = 0; entry < entries->count(); ++entry) {
    const Source* file = whole == nullptr ? nullptr : whole->FileOf(entry);
    if (file == nullptr) file = container.source().get();
    if (file != last) last_is_counted = is_file_counted(*file);
    last = file;
    if (!last_is_counted) continue;
    const EntryInfo info =
        entries->Describe(entry, LoneContext()).value_or(EntryInfo{});
    ++sums.entries;
    sums.decoded_bytes = AddUpTo(sums.decoded_bytes, info.size);
    if (info.dtype.empty() || !info.shape) continue;
    sums.elements = AddUpTo(sums.elements, ElementsOf(*info.shape));
  }
  return sums;
}

}  // namespace ctxfs
