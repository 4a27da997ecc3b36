// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/xattr.h"

#include "core/base/limits.h"
#include "core/base/result.h"

namespace ctxfs {

std::vector<std::pair<std::string, std::string>> EntryXattrs(
    const EntryInfo& info, const std::string& path) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&all](const char* name, std::string value) {
    if (value.empty() || value.size() >= limits::kXattrBytes) return;
    all.emplace_back(std::string("user.ctxfs.") + name, std::move(value));
  };
  if (info.name && *info.name != path &&
      info.name->size() < limits::kXattrBytes) {
    all.emplace_back("user.ctxfs.name", *info.name);  // it may be empty
  }
  add("dtype", info.dtype);
  if (info.shape) add("shape", JsonLine(*info.shape));
  if (!info.computed) {
    add("codec", info.codec);
    add("stored_size", std::to_string(info.stored_size));
    if (info.offset != kNoOffset) add("offset", std::to_string(info.offset));
    add("checksum", info.checksum);
  }
  add("content_type", info.content_type);
  add("verified", info.verified);
  add("note", info.note);
  return all;
}

}  // namespace ctxfs
