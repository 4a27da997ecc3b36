// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/open_container.h"

#include <fmt/core.h>

#include "core/container/cut_file.h"
#include "core/container/unreadable.h"
#include "core/io/digesting_source.h"
#include "core/io/directory.h"

namespace ctxfs {
namespace {

/// "; cut: needs ...; with -o salvage 2 of 3 entries can be opened", or the
/// parts of it that apply.
std::string SalvageHint(std::shared_ptr<const Source> source,
                        OpenOptions options) {
  options.salvage = true;
  const Result<std::shared_ptr<const Container>> container =
      OpenContainer(std::move(source), options);
  if (!container) return {};
  const std::optional<CutFile> cut = CutOf(**container);
  const std::string hint = cut ? "; " + cut->Text() : "";
  const auto table = (*container)->Entries();
  const uint32_t entries = table->count();
  uint32_t readable = 0;
  for (uint32_t i = 0; i < entries; ++i) {
    if (table->access(i) != Access::kUnreadable) ++readable;
  }
  if (readable == 0) return hint;
  return fmt::format("{}; with -o salvage {} of {} entries can be opened", hint,
                     readable, entries);
}

}  // namespace

Result<std::shared_ptr<const Container>> OpenRecorded(
    const std::shared_ptr<const Source>& source, const OpenOptions& options,
    const ReadContext& context, const OnDamage& on_damage) {
  std::shared_ptr<const Source> read = source;
  std::shared_ptr<DigestingSource> recorded;
  if (options.watch_ctime) {
    read = recorded = std::make_shared<DigestingSource>(source);
  }
  Result<std::shared_ptr<const Container>> container =
      OpenContainer(read, options, context);
  if (recorded != nullptr) recorded->Seal();
  if (container || on_damage == nullptr || !container.error().Permanent()) {
    return container;
  }
  on_damage(container.error());
  return UnreadableContainer(read, std::move(container).error());
}

Result<std::shared_ptr<const Container>> OpenContainerFile(
    const std::string& path, const OpenOptions& options,
    const Request& request) {
  const std::shared_ptr<const Source> source =
      CTXFS_TRY(OpenSource(path, options.source_options(), request));
  BlockCache none(0);
  const Request opening = IsUrl(path) ? request : Request();
  Result<std::shared_ptr<const Container>> container =
      OpenRecorded(source, options, {none, opening});
  // An interrupted opening can miss entries that it could not read.
  if (container) CTXFS_TRY(opening.Check());
  if (!container && container.error().code == Code::kCorrupt &&
      !options.salvage) {
    Error error = std::move(container).error();
    error.what += SalvageHint(source, options);
    return error;
  }
  return container;
}

}  // namespace ctxfs
