// SPDX-License-Identifier: Apache-2.0
#include "core/tree/numbered.h"

#include <charconv>
#include <system_error>

namespace ctxfs {

std::string NumberedDirectory::Name(uint32_t file) const {
  std::string name = std::to_string(file);
  if (name.size() < files_->digits) {
    name.insert(0, files_->digits - name.size(), '0');
  }
  return name + files_->suffix;
}

std::string NumberedDirectory::Path(NodeId node) const {
  return node == kRoot ? std::string() : Name(node - 1);
}

Files::Child NumberedDirectory::ChildAt(NodeId /*directory*/,
                                        uint32_t index) const {
  return {index + 1, Name(index), false};
}

std::optional<NodeId> NumberedDirectory::Lookup(NodeId /*directory*/,
                                                std::string_view name) const {
  if (!name.ends_with(files_->suffix)) return std::nullopt;
  const std::string_view digits =
      name.substr(0, name.size() - files_->suffix.size());
  uint32_t file = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, file);
  if (error != std::errc() || stop != end || file >= files_->count) {
    return std::nullopt;
  }
  // One name a file: neither "42" nor "0000042" is 000042.
  if (Name(file) != name) return std::nullopt;
  return file + 1;
}

Result<uint64_t> NumberedDirectory::Size(NodeId file,
                                         const ReadContext& context) const {
  if (files_->size != nullptr) return files_->size(file - 1);
  Result<Content> content = Open(file, context);
  if (content) return content->size();
  if (!content.error().Permanent()) return std::move(content).error();
  return 0;  // it is there, and cannot be read
}

std::optional<EntryInfo> NumberedDirectory::Describe(NodeId file) const {
  if (files_->describe == nullptr) return std::nullopt;
  return files_->describe(file - 1);
}

}  // namespace ctxfs
