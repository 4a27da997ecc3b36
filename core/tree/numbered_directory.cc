// SPDX-License-Identifier: Apache-2.0
#include "core/tree/numbered_directory.h"

#include <utility>

#include "core/base/text/whole_number.h"

namespace ctxfs {

Status NumberedDirectory::FindNames(const ReadContext& context) const {
  const auto done = [this] {
    return numbering_->find_suffix == nullptr || found_.load() != nullptr;
  };
  const auto find = [this](const ReadContext& shared) -> Status {
    std::string suffix = CTXFS_TRY(numbering_->find_suffix(shared));
    // After an interrupt the result may be a guess.
    CTXFS_TRY(shared.Check());
    kept_ = std::make_unique<const std::string>(std::move(suffix));
    found_.store(kept_.get());
    return {};
  };
  if (done()) return {};
  return context.cache().Once({owner_, 0}, context, done, find);
}

const std::string& NumberedDirectory::Suffix() const {
  const std::string* const found = found_.load();
  return found == nullptr ? numbering_->suffix : *found;
}

std::string NumberedDirectory::Name(uint32_t file) const {
  std::string name = std::to_string(file);
  if (name.size() < numbering_->digits) {
    name.insert(0, numbering_->digits - name.size(), '0');
  }
  return name + Suffix();
}

std::string NumberedDirectory::Path(NodeId node) const {
  return node == kRoot ? std::string() : Name(node - 1);
}

FileTree::Child NumberedDirectory::ChildAt(NodeId /*directory*/,
                                           uint32_t index) const {
  const NodeId node = index + 1;
  return {node, Name(index), Type(node)};
}

std::optional<NodeId> NumberedDirectory::Lookup(NodeId directory,
                                                std::string_view name) const {
  const std::string& suffix = Suffix();
  if (directory != kRoot || !name.ends_with(suffix)) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - suffix.size());
  const std::optional<uint32_t> file = WholeNumber<uint32_t>(digits);
  if (!file || *file >= table_->count()) return std::nullopt;
  // Each file has one name: neither "42" nor "0000042" is 000042.
  if (Name(*file) != name) return std::nullopt;
  return *file + 1;
}

std::optional<ChildContainer> NumberedDirectory::NestedAt(
    NodeId directory) const {
  if (!ShowsContainer(directory)) return std::nullopt;
  return ChildContainer{
      .path = Name(directory - 1),
      .open_source = nullptr,
      .role = table_->placement().role,
      .open = [this, number = directory - 1](const ReadContext& context) {
        return numbering_->open_directory(number, context);
      }};
}

}  // namespace ctxfs
