// SPDX-License-Identifier: Apache-2.0
//
// Where a tensor's elements are in its storage (docs/torch.md, section 6).
#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/limits.h"
#include "core/tree/name_tree.h"
#include "core/tree/safe_name.h"

namespace ctxfs::torch {
namespace {

std::optional<uint64_t> AsSize(int64_t number) {
  if (number < 0) return std::nullopt;
  return static_cast<uint64_t>(number);
}

std::optional<std::vector<uint64_t>> AsSizes(
    const std::vector<int64_t>& numbers) {
  std::vector<uint64_t> sizes;
  for (const int64_t number : numbers) {
    const std::optional<uint64_t> size = AsSize(number);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

/// The product of a shape; nullopt beyond 2^64.
std::optional<uint64_t> Count(const std::vector<uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  std::optional<uint64_t> count = 1;
  for (const uint64_t extent : shape) {
    if (count) count = CheckedMul(*count, extent);
  }
  return count;
}

/// Elements from the storage's start to the end of the tensor's last one.
std::optional<uint64_t> Reach(const Layout& layout) {
  const Extents& shape = *layout.shape;
  std::optional<uint64_t> last = layout.offset;
  for (size_t i = 0; i < shape.size() && last; ++i) {
    const std::optional<uint64_t> step =
        CheckedMul(shape[i] - 1, (*layout.strides)[i]);
    last = step ? CheckedAdd(*last, *step) : std::nullopt;
  }
  return last ? CheckedAdd(*last, 1) : std::nullopt;
}

/// Finds the part of a storage of `stored` bytes that an id means: it has
/// `room` bytes from byte `start` on. Returns the fault, if any.
std::string FindPart(const StorageId& id, uint64_t stored, uint64_t& start,
                     uint64_t& room) {
  const uint64_t width = DTypeSize(id.type.dtype);
  const auto in_bytes = [width](int64_t elements) {
    const std::optional<uint64_t> count = AsSize(elements);
    return count ? CheckedMul(*count, width) : std::nullopt;
  };
  if (in_bytes(id.elements) != std::optional<uint64_t>(stored)) {
    return "its storage has " + std::to_string(stored) +
           " bytes, which is not what the pickle says";
  }
  room = stored;
  if (!id.view_size) return {};
  const std::optional<uint64_t> first = in_bytes(id.view_offset);
  const std::optional<uint64_t> length = in_bytes(*id.view_size);
  if (!first || !length || !InBounds(*first, *length, stored)) {
    return "its part of the storage is past the storage's end";
  }
  start = *first;
  room = *length;
  return {};
}

/// Sets the size of a tensor in a part of `room` bytes of a storage of `stored`
/// bytes. Returns the fault, if any.
std::string Measure(uint64_t stored, uint64_t room, Layout& layout) {
  const uint64_t width = DTypeSize(layout.type.dtype);
  const std::optional<uint64_t> count = Count(*layout.shape);
  if (count == std::optional<uint64_t>(0)) return {};
  const std::optional<uint64_t> reach = Reach(layout);
  const std::optional<uint64_t> end =
      reach ? CheckedMul(*reach, width) : std::nullopt;
  if (!end || *end > room) return "it reaches past the end of its storage";
  const std::optional<uint64_t> size =
      count ? CheckedMul(*count, width) : std::nullopt;
  if (!size || (*size > kMostExpanded && *size > stored)) {
    return "too_large: it is larger than its storage and than 1 GiB";
  }
  layout.size = *size;
  return {};
}

}  // namespace

uint32_t Checkpoint::StorageRecord(const std::string& name) {
  const auto [found, inserted] = storage_numbers_.try_emplace(
      name, static_cast<uint32_t>(storages_.size()));
  if (!inserted) return found->second;
  Storage storage;
  storage.member = Record(name);
  if (!storage.member) {
    storage.fault = repeated_.contains(name)
                        ? "there are several records " + Quote(name)
                        : "there is no record " + Quote(name);
  } else if (const auto fault = archive_->MemberFault(*storage.member)) {
    storage.fault = fault->what;
  } else {
    storage.size = archive_->Size(*storage.member);
    storage.offset = archive_->member(*storage.member).header;
  }
  storages_.push_back(std::move(storage));
  return found->second;
}

Layout Checkpoint::Resolve(const TensorId& id, const std::string& storages,
                           SharedParts& parts) {
  Layout layout;
  layout.type = id.type;
  layout.conjugate = id.conjugate;
  layout.negative = id.negative;
  layout.shape = layout.strides = parts.extents.Share({});
  if (archive_ != nullptr) {
    layout.storage = StorageRecord(storages + id.storage.key);
  } else {
    const auto known = storage_numbers_.find(id.storage.key);
    if (known == storage_numbers_.end()) {
      layout.fault =
          parts.faults.Share("there is no storage " + Quote(id.storage.key));
      return layout;
    }
    layout.storage = known->second;
  }
  const Storage& storage = storages_[layout.storage];
  std::string fault =
      storage.fault.empty() ? Place(id, storage, parts, layout) : storage.fault;
  if (!fault.empty()) {
    layout.fault = parts.faults.Share(std::move(fault));
    layout.size = 0;
  }
  return layout;
}

std::string Checkpoint::Place(const TensorId& id, const Storage& storage,
                              SharedParts& parts, Layout& layout) {
  const std::optional<uint64_t> offset = AsSize(id.offset);
  auto shape = AsSizes(id.shape);
  auto strides = AsSizes(id.strides);
  if (!offset || !shape || !strides) {
    return "its offset, a size or a stride is negative";
  }
  if (shape->size() != strides->size()) {
    return "it has " + std::to_string(shape->size()) + " sizes, but " +
           std::to_string(strides->size()) + " strides";
  }
  layout.offset = *offset;
  layout.shape = parts.extents.Share(std::move(*shape));
  layout.strides = parts.extents.Share(std::move(*strides));

  uint64_t room = 0;
  std::string fault = FindPart(id.storage, storage.size, layout.start, room);
  return fault.empty() ? Measure(storage.size, room, layout) : fault;
}

// Builds a tree of the tensors alone, which resolves conflicts of names as the
// container's tree does (docs/tree.md, section 7).
void Checkpoint::NameTensors() {
  if (tensors_.empty()) return;
  TreeBuilder builder(static_cast<uint32_t>(2 * tensors_.size()));
  SafePath safe;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto components = safe.Split(tensors_[i].name);
    ctxfs::NodeId directory = NameTree::kRoot;
    for (size_t part = 0; part + 1 < components.size(); ++part) {
      directory = builder.MakeDirectory(directory, components[part]);
    }
    builder.AddFile(directory, components.back(), static_cast<FileId>(i));
  }
  const Result<NameTree> tree = std::move(builder).Build();
  if (!tree) return;  // the container's own tree says why
  for (ctxfs::NodeId node = 0; node < tree->node_count(); ++node) {
    if (!tree->IsDirectory(node)) {
      tensors_[tree->File(node)].path = tree->Path(node);
    }
  }
}

}  // namespace ctxfs::torch
