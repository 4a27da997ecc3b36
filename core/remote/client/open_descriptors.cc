// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/open_descriptors.h"

#include <algorithm>
#include <utility>

namespace ctxfs::remote {

void OpenDescriptors::Add(uint64_t object, BlockFile file) {
  files_.push_back(
      {object, std::make_shared<const BlockFile>(std::move(file))});
  if (files_.size() > kMax) files_.pop_front();
}

bool OpenDescriptors::Has(uint64_t object, uint64_t granule) const {
  return std::ranges::any_of(files_, [object, granule](const Held& one) {
    return one.object == object && one.file->Covers(granule);
  });
}

OpenDescriptors::FilePtr OpenDescriptors::Find(uint64_t object,
                                               uint64_t granule) {
  for (auto one = files_.begin(); one != files_.end();) {
    if (one->object != object || !one->file->Covers(granule)) {
      ++one;
      continue;
    }
    if (one->file->dropped()) {
      one = files_.erase(one);
      continue;
    }
    files_.splice(files_.end(), files_, one);
    return files_.back().file;
  }
  return nullptr;
}

void OpenDescriptors::Drop(const FilePtr& file) {
  files_.remove_if([&file](const Held& one) { return one.file == file; });
}

std::vector<BlockFile> LoadPassed(const FetchReply& reply,
                                  std::vector<Fd> descriptors) {
  std::vector<BlockFile> files;
  const size_t count = std::min(descriptors.size(), reply.files.size());
  for (size_t i = 0; i < count; ++i) {
    const auto& [first, blocks] = reply.files[i];
    auto file =
        BlockFile::Load(std::move(descriptors[i]), first, blocks, reply.digest);
    if (file) files.push_back(std::move(*file));
  }
  return files;
}

bool IsPassed(const FetchReply& reply, uint64_t granule) {
  return std::ranges::any_of(reply.files, [granule](const PassedFile& file) {
    return granule >= file.first && granule - file.first < file.count;
  });
}

std::vector<MutableBytes> WholeGranules(uint64_t size, uint64_t offset,
                                        MutableBytes out, uint64_t most) {
  std::vector<MutableBytes> granules;
  if (offset % kGranuleBytes != 0) return granules;
  uint64_t granule = offset / kGranuleBytes;
  while (!out.empty() && granules.size() < most) {
    const size_t bytes = GranuleSize(size, granule++);
    if (bytes > out.size()) break;
    granules.push_back(out.first(bytes));
    out = out.subspan(bytes);
  }
  return granules;
}

}  // namespace ctxfs::remote
