// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints before torch 1.6 (docs/formats/torch.md, section 3): five pickles
// one after another, then the storages, without padding, checksums or a table.
//
//   magic number, protocol, a dict about the system, the object, a list of keys
//   for each key: i64 number of elements, then the elements, little-endian
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/torch/checkpoint.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

constexpr std::string_view kMagic(
    "\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19\x2E", 13);
constexpr int64_t kProtocol = 1001;
constexpr uint64_t kCountBytes = 8;

Error BadPickle(const char* which, const Error& error) {
  if (!error.Permanent()) return error;
  return {Code::kCorrupt, std::string("pickle: ") + which + ": " + error.what,
          error.offset};
}

/// For the key of each storage: the bytes of an element, and the number of
/// elements.
using NamedStorages =
    std::unordered_map<std::string, std::pair<uint64_t, int64_t>>;

Result<NamedStorages> FindNamedStorages(const Pickle& pickle,
                                        const ReadContext& context) {
  constexpr uint32_t kNodesPerCheck = 16'384;
  NamedStorages named;
  for (NodeId node = 0; node < pickle.count(); ++node) {
    if (node % kNodesPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const std::optional<StorageId> storage = AsStorage(pickle, node);
    if (!storage) continue;
    named.try_emplace(storage->key, DTypeSize(storage->type.dtype),
                      storage->elements);
  }
  return named;
}

/// Returns the end of a storage that starts at byte `at`. `storage`: bytes of
/// an element, and number of elements.
uint64_t EndOfLegacy(uint64_t at, std::pair<uint64_t, int64_t> storage) {
  const auto [width, elements] = storage;
  if (elements < 0) return at;
  const auto size = CheckedMul(static_cast<uint64_t>(elements), width);
  const auto end = CheckedAdd(at + kCountBytes, size.value_or(UINT64_MAX));
  return end.value_or(UINT64_MAX - kCountBytes);
}

}  // namespace

bool StartsLegacy(Bytes head) {
  std::string_view text = AsText(head);
  if (text.size() < 2 || text[0] != '\x80') return false;
  const auto protocol = static_cast<unsigned char>(text[1]);
  text.remove_prefix(2);
  if (protocol < 2 || protocol > 5) return false;
  constexpr size_t kFrame = 9;
  if (protocol >= 4 && text.size() > kFrame && text[0] == '\x95') {
    text.remove_prefix(kFrame);
  }
  return text.starts_with(kMagic);
}

Status Checkpoint::ReadLegacyHead(const ReadContext& context, uint64_t& at) {
  const Content file(Range{source(), 0, nullptr}, source()->size());
  const Result<Pickle> magic = ReadPickle(file, at, context, at);
  if (!magic) return BadPickle("the magic number", magic.error());
  const uint64_t protocol_at = at;
  const Result<Pickle> protocol = ReadPickle(file, at, context, at);
  if (!protocol) return BadPickle("the protocol", protocol.error());
  const std::optional<int64_t> number = AsInteger(*protocol, protocol->root());
  if (number != std::optional<int64_t>(kProtocol)) {
    return Error{Code::kVersion,
                 "protocol: " + (number ? std::to_string(*number) : "a value") +
                     " is not 1001",
                 protocol_at};
  }
  const Result<Pickle> system = ReadPickle(file, at, context, at);
  if (!system) return BadPickle("the dict about the system", system.error());
  return {};
}

Status Checkpoint::LoadLegacy(const ReadContext& context) {
  const Content file(Range{source(), 0, nullptr}, source()->size());
  CTXFS_TRY(ListLegacyGlobals(context));
  uint64_t at = 0;
  CTXFS_TRY(ReadLegacyHead(context, at));
  const uint64_t object_at = at;
  Result<Pickle> object = ReadPickle(file, at, context, at);
  if (!object) return BadPickle("the object", object.error());
  const Result<Pickle> keys = ReadPickle(file, at, context, at);
  if (!keys) return BadPickle("the storage keys", keys.error());
  CTXFS_TRY(ReadLegacyStorages(*keys, at, *object, context));
  Status added = AddPickle(kValue, *object, "", "", context);
  if (added) {
    pickles_[kValue].content = file;
    pickles_[kValue].offset = object_at;
    pickles_[kValue].parsed = *std::move(object);
  } else if (!added.error().Permanent() || too_many_) {
    return added;
  } else {
    Warn({added.error().what, object_at, Severity::kDamage});
  }
  return {};
}

Status Checkpoint::ReadLegacyStorages(const Pickle& keys, uint64_t at,
                                      const Pickle& object,
                                      const ReadContext& context) {
  constexpr uint32_t kKeysPerCheck = 1024;
  const Node& list = keys.at(keys.root());
  if (list.kind != Node::Kind::kList) {
    return Error{Code::kCorrupt, "pickle: the storage keys are not a list", at};
  }
  const NamedStorages named = CTXFS_TRY(FindNamedStorages(object, context));
  std::string lost;      // why the offsets from here on are unknown
  uint64_t needed = at;  // the end that the pickle requires
  uint32_t checked = 0;  // keys, of which there may be any number
  for (uint32_t link = list.first; link != kNoNode; link = keys.Next(link)) {
    if (checked++ % kKeysPerCheck == 0) {
      CTXFS_TRY(context.Check());
      CTXFS_TRY(AdmitGrowth(storages_, kKeysPerCheck));
    }
    const NodeId node = keys.Child(link);
    if (keys.at(node).kind != Node::Kind::kText) continue;
    if (keys.Text(node).size() > kMaxKeyBytes) {
      if (lost.empty()) lost = "a storage key is too long";
      continue;
    }
    const std::string key(keys.Text(node));
    Storage storage;
    storage.offset = at;
    const auto known = named.find(key);
    if (lost.empty() && known == named.end()) {
      lost = "the width of storage " + Quote(key) + " is unknown";
    }
    if (lost.empty()) {
      Status placed = PlaceLegacy(known->second.first, known->second.second,
                                  storage, at, context);
      if (!placed && !placed.error().Permanent()) return placed;
      if (!placed) lost = "storage " + Quote(key) + ": " + placed.error().what;
    }
    storage.fault = lost;
    if (storage_numbers_
            .try_emplace(key, static_cast<uint32_t>(storages_.size()))
            .second) {
      storages_.push_back(std::move(storage));
      if (known != named.end()) needed = EndOfLegacy(needed, known->second);
    }
  }
  Need(needed);
  if (lost.empty()) return WarnOfLegacyEnd(at, context);
  Warn({lost + ", and storages after it are lost", at, Severity::kDamage});
  return {};
}

Status Checkpoint::WarnOfLegacyEnd(uint64_t at, const Request& request) {
  const uint64_t more = source()->size() - at;
  if (more == 0) return {};
  const Buffer head = CTXFS_TRY(
      ReadBuffer(*source(), at, std::min<uint64_t>(more, limits::kProbeBytes),
                 "bytes after the storages", request));
  Warn(
      {fmt::format(
           "bytes_after: {} bytes after the last storage are not shown{}", more,
           StartsLegacy(head.span()) ? ", and start like a checkpoint" : ""),
       at, Severity::kPartial});
  return {};
}

Status Checkpoint::PlaceLegacy(uint64_t width, int64_t elements,
                               Storage& storage, uint64_t& at,
                               const Request& request) const {
  if (!InBounds(at, kCountBytes, source()->size())) {
    return Error{Code::kCorrupt, "the file ends before it"};
  }
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(*source(), at, kCountBytes, "number of elements", request));
  const auto count = static_cast<int64_t>(LoadLe<uint64_t>(bytes.data()));
  if (count < 0 || count != elements) {
    return Error{Code::kCorrupt,
                 fmt::format("it has {} elements, and the pickle says {}",
                             count, elements)};
  }
  const std::optional<uint64_t> size =
      CheckedMul(static_cast<uint64_t>(count), width);
  if (!size || !InBounds(at + kCountBytes, *size, source()->size())) {
    return Error{Code::kCorrupt, "the file ends within it"};
  }
  storage.offset = at + kCountBytes;
  storage.size = *size;
  at = storage.offset + *size;
  return {};
}

}  // namespace ctxfs::torch
