// SPDX-License-Identifier: Apache-2.0
//
// Finds the .npy members of an archive whose arrays are an episode
// (docs/views.md, section 11).
#include "core/formats/tar/arrays.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/content/check_at.h"
#include "core/formats/npy/header.h"

namespace ctxfs::tar {
namespace {

constexpr std::string_view kNpySuffix = ".npy";
// Bytes that are read for a header at first. Most .npy headers have 128 bytes.
constexpr uint64_t kHeaderRead = 512;

/// Returns NAME of a shown file NAME.npy that keeps its path and is not sparse.
std::optional<std::string_view> ArrayName(const Members& members,
                                          uint32_t member) {
  const Kind kind = members.kind(member);
  if (kind != Kind::kFile && kind != Kind::kOtherFile &&
      kind != Kind::kHardLink) {
    return std::nullopt;
  }
  std::string_view name = ShownPath(members.name(member));
  if (members.superseded(member) || !name.ends_with(kNpySuffix)) {
    return std::nullopt;
  }
  name.remove_suffix(kNpySuffix.size());
  return name;
}

Result<npy::Array> ReadHeader(const Content& file, const ReadContext& context) {
  const auto read = [&](uint64_t most) -> Result<Buffer> {
    Buffer start(static_cast<size_t>(std::min(most, file.size())));
    CTXFS_TRY(ReadInto(file, 0, start.span(), context));
    return start;
  };
  Buffer start = CTXFS_TRY(read(kHeaderRead));
  const uint64_t bytes = CTXFS_TRY(npy::HeaderBytes(start.span()));
  if (bytes > start.size()) {
    start = CTXFS_TRY(read(bytes));
  }
  return npy::ReadWholeArray(start.span(), file.size());
}

Result<ArrayInfo> ReadArrayInfo(const std::shared_ptr<const FileTable>& entries,
                                uint32_t member, std::string_view name,
                                const ReadContext& context) {
  const Content file = CTXFS_TRY(entries->Open(member, context));
  const npy::Array array = CTXFS_TRY(ReadHeader(file, context));
  return ArrayInfo{std::string(name), array.dtype, array.shape,
                   [entries, member, array, key = Key{NewOwner(), 0}](
                       const ReadContext& request) -> Result<Content> {
                     const Content whole =
                         CTXFS_TRY(entries->Open(member, request));
                     return npy::Elements(key, array, whole);
                   }};
}

}  // namespace

bool HasEpisodeNames(const Members& members, const ReadContext& context) {
  uint32_t arrays = 0;
  bool named = false;
  for (uint32_t i = 0; i < members.count(); ++i) {
    if (!CheckAt(context, i)) return false;
    const auto name = ArrayName(members, i);
    if (!name) continue;
    if (++arrays > kMaxEpisodeArrays) return false;
    named = named || NamesEpisode(*name);
  }
  return named && arrays > 1;
}

std::vector<ArrayInfo> NpyArrays(
    const Members& members, const std::shared_ptr<const FileTable>& entries,
    const ReadContext& context, std::vector<Episode::Omission>* left_out) {
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < members.count(); ++i) {
    if (!CheckAt(context, i)) break;
    const auto name = ArrayName(members, i);
    if (!name) continue;
    Result<ArrayInfo> array = ReadArrayInfo(entries, i, *name, context);
    if (array) {
      arrays.push_back(*std::move(array));
    } else if (left_out != nullptr) {
      left_out->push_back({std::string(*name), array.error().Text()});
    }
  }
  return arrays;
}

}  // namespace ctxfs::tar
