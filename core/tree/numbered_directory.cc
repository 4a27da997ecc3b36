// SPDX-License-Identifier: Apache-2.0
#include "core/tree/numbered_directory.h"

#include "core/base/text/whole_number.h"

namespace ctxfs {

std::string NumberedDirectory::Name(uint32_t file) const {
  std::string name = std::to_string(file);
  if (name.size() < numbering_->digits) {
    name.insert(0, numbering_->digits - name.size(), '0');
  }
  return name + numbering_->suffix;
}

std::string NumberedDirectory::Path(NodeId node) const {
  return node == kRoot ? std::string() : Name(node - 1);
}

FileTree::Child NumberedDirectory::ChildAt(NodeId /*directory*/,
                                           uint32_t index) const {
  return {index + 1, Name(index), NodeType::kFile};
}

std::optional<NodeId> NumberedDirectory::Lookup(NodeId /*directory*/,
                                                std::string_view name) const {
  if (!name.ends_with(numbering_->suffix)) return std::nullopt;
  const std::string_view digits =
      name.substr(0, name.size() - numbering_->suffix.size());
  const std::optional<uint32_t> file = WholeNumber<uint32_t>(digits);
  if (!file || *file >= table_->count()) return std::nullopt;
  // Each file has one name: neither "42" nor "0000042" is 000042.
  if (Name(*file) != name) return std::nullopt;
  return *file + 1;
}

}  // namespace ctxfs
