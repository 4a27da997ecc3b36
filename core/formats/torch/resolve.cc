// SPDX-License-Identifier: Apache-2.0
//
// Locates a tensor's elements in its storage (docs/formats/torch.md, section
// 6).
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/limits.h"

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

/// Returns the product of a shape; nullopt from 2^64 on.
std::optional<uint64_t> Count(const std::vector<uint64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  std::optional<uint64_t> count = 1;
  for (const uint64_t extent : shape) {
    if (count) count = CheckedMul(*count, extent);
  }
  return count;
}

/// Returns the number of elements from layout.start to the tensor's last one,
/// inclusive; nullopt from 2^64 on. No dimension may be 0.
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

std::optional<uint64_t> BytesOf(const StorageId& id, int64_t elements) {
  const std::optional<uint64_t> count = AsSize(elements);
  return count ? CheckedMul(*count, DTypeSize(id.type.dtype)) : std::nullopt;
}

/// Finds the part of a storage of `stored` bytes that an id selects: `room`
/// bytes from byte `start` on. Returns the fault, if any.
std::string FindPart(const StorageId& id, uint64_t stored, uint64_t& start,
                     uint64_t& room) {
  if (BytesOf(id, id.elements) != std::optional<uint64_t>(stored)) {
    return fmt::format(
        "its storage has {} bytes, which is not what the pickle says", stored);
  }
  room = stored;
  if (!id.view_size) return {};
  const std::optional<uint64_t> first = BytesOf(id, id.view_offset);
  const std::optional<uint64_t> length = BytesOf(id, *id.view_size);
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
  if (!size || (*size > kMaxExpanded && *size > stored)) {
    return "too_large: it is larger than its storage and than 1 GiB";
  }
  layout.size = *size;
  return {};
}

}  // namespace

uint32_t Checkpoint::StorageRecord(const std::string& name,
                                   const StorageId& id) {
  const auto [found, inserted] = storage_numbers_.try_emplace(
      name, static_cast<uint32_t>(storages_.size()));
  if (!inserted) return found->second;
  Storage storage;
  storage.member = Record(name);
  if (!storage.member) {
    missing_bytes_ =
        CheckedAdd(missing_bytes_, BytesOf(id, id.elements).value_or(0))
            .value_or(missing_bytes_);
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
    layout.storage = StorageRecord(storages + id.storage.key, id.storage);
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
    return fmt::format("it has {} sizes, but {} strides", shape->size(),
                       strides->size());
  }
  layout.offset = *offset;
  layout.shape = parts.extents.Share(std::move(*shape));
  layout.strides = parts.extents.Share(std::move(*strides));

  uint64_t room = 0;
  std::string fault = FindPart(id.storage, storage.size, layout.start, room);
  if (!id.unknown_type.empty()) ShowAsBytes(id, room, parts, layout);
  return fault.empty() ? Measure(storage.size, room, layout) : fault;
}

void Checkpoint::ShowAsBytes(const TensorId& id, uint64_t room,
                             SharedParts& parts, Layout& layout) {
  layout.offset = 0;
  layout.shape = parts.extents.Share({room});
  layout.strides = parts.extents.Share({1});
  layout.conjugate = false;
  layout.negative = false;
  layout.note = parts.faults.Share(fmt::format(
      "the bytes of its storage: its dtype {} is unknown", id.unknown_type));
}

uint64_t Checkpoint::MostRepeated() const {
  return CheckedAdd(
             kMaxRepeated,
             CheckedMul(kMaxRepeatedPerByte, StoredSize()).value_or(UINT64_MAX))
      .value_or(UINT64_MAX);
}

std::shared_ptr<const Layout> Checkpoint::Charge(
    std::shared_ptr<const Layout> layout, SharedParts& parts) {
  if (layout->fault != nullptr) return layout;
  Storage& storage = storages_[layout->storage];
  const uint64_t fresh = std::min(layout->size, storage.size - storage.shown);
  const uint64_t again = layout->size - fresh;
  if (again <= MostRepeated() - repeated_bytes_) {
    storage.shown += fresh;
    repeated_bytes_ += again;
    return layout;
  }
  auto refused = std::make_shared<Layout>(*layout);
  refused->over_limit = true;
  refused->size = 0;
  refused->fault = parts.faults.Share(fmt::format(
      "repeated: tensors show bytes of storages again, and more than {} of "
      "them, which is 4 GiB and 16 bytes for each of the file",
      MostRepeated()));
  return refused;
}

}  // namespace ctxfs::torch
