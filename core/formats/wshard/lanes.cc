// SPDX-License-Identifier: Apache-2.0
//
// Determines dtype and shape of lanes (docs/formats/wshard.md, section 3).
// meta/channels declares lanes; in one writer's files, meta/wshard declares
// predictions. Writers declare few lanes: the types of actions, predictions,
// reward and done follow from rules and sizes, or remain unknown.
#include "core/formats/wshard/lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/wshard/limits.h"

namespace ctxfs::wshard {
namespace {

constexpr const char* kDeclared = "meta/channels";
constexpr const char* kDeclaredOmen = "meta/wshard";
constexpr const char* kImplied = "implied";

const std::string* Text(const Json* value) {
  return value == nullptr ? nullptr : value->get_ptr<const std::string*>();
}

/// Returns a lane [T] or [T, ...] of `dtype` if `size` is a whole number of
/// steps of `elements` elements.
std::optional<Lane> Steps(DType dtype, const std::vector<uint64_t>& shape,
                          uint64_t elements, uint64_t size, const char* source,
                          bool guess) {
  const std::optional<uint64_t> step = CheckedMul(elements, DTypeSize(dtype));
  if (!step || *step == 0 || size % *step != 0) return std::nullopt;
  Lane lane{dtype, {size / *step}, source, guess};
  lane.shape.insert(lane.shape.end(), shape.begin(), shape.end());
  return lane;
}

std::optional<Lane> Scalars(DType dtype, uint64_t size, const char* source,
                            bool guess = false) {
  return Steps(dtype, {}, 1, size, source, guess);
}

/// Whether `steps` is known and not 0, and `size` is `steps` * `each` bytes.
bool IsEach(uint64_t size, std::optional<uint64_t> steps, uint64_t each) {
  if (!steps || *steps == 0) return false;
  const std::optional<uint64_t> all = CheckedMul(*steps, each);
  return all && *all == size;
}

/// Whether the name is a lane's, not that of metadata or residual bits.
bool IsLaneName(std::string_view name) {
  constexpr std::string_view kFolders[] = {"signal/", "action/", "omen/",
                                           "uncert/", "time/"};
  return name == "reward" || name == "done" ||
         std::any_of(std::begin(kFolders), std::end(kFolders),
                     [name](std::string_view folder) {
                       return name.starts_with(folder);
                     });
}

}  // namespace

std::optional<std::string> ChannelBlock(const Json& element) {
  const std::string* block = Text(MemberAt(element, "signal_block"));
  if (block != nullptr) return *block;
  const std::string* id = Text(MemberAt(element, "id"));
  if (id != nullptr) return "signal/" + *id;
  return std::nullopt;
}

std::optional<DType> LaneDType(std::string_view name) {
  // The prefixes of long names of dtypes, each with the prefix that short names
  // have instead.
  constexpr std::array<std::array<std::string_view, 2>, 4> kLong = {
      {{"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}}};
  if (name.size() > 16) return std::nullopt;
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const auto& [prefix, letter] : kLong) {
    if (lower.starts_with(prefix)) {
      lower.replace(0, prefix.size(), letter);
      break;
    }
  }
  // WShard has the types of DType up to kF64, and none after it. All have whole
  // bytes.
  const std::optional<DType> dtype = DTypeOf(lower);
  return dtype <= DType::kF64 ? dtype : std::nullopt;
}

LaneTable::LaneTable(const Json& channels, std::optional<uint64_t> length,
                     const Json& wshard, const Request& request)
    : length_(length) {
  DeclareAll(channels, request);
  DeclareOmens(wshard, request);
}

void LaneTable::DeclareAll(const Json& channels, const Request& request) {
  if (!channels.is_object()) return;
  const Json* list = MemberAt(channels, "channels");
  if (list != nullptr && list->is_array()) {
    for (const Json& element : *list) {
      if (std::optional<std::string> block = ChannelBlock(element)) {
        Declare(Text(MemberAt(element, "id")), *std::move(block), element,
                request);
      } else {
        ++unusable_;
      }
    }
    return;
  }
  // The first Go writer stored a map instead of a list, keyed by the block's
  // name.
  for (const auto& [block, element] : channels.items()) {
    if (element.is_object()) {
      Declare(nullptr, block, element, request);
    } else {
      ++unusable_;
    }
  }
}

std::optional<LaneTable::Channel> LaneTable::ParseChannel(const Json& element) {
  Channel channel;
  if (const std::string* dtype = Text(MemberAt(element, "dtype"))) {
    channel.dtype_text = *dtype;
    channel.dtype = LaneDType(*dtype);
  }
  const Json* shape = MemberAt(element, "shape");
  if (shape == nullptr) return channel;
  if (!shape->is_array() || shape->size() > limits::kRank) return std::nullopt;
  for (const Json& extent : *shape) {
    const auto* size = extent.get_ptr<const Json::number_unsigned_t*>();
    const std::optional<uint64_t> product =
        size == nullptr ? std::nullopt : CheckedMul(channel.elements, *size);
    if (!product) return std::nullopt;
    channel.elements = *product;
    channel.shape.push_back(*size);
  }
  return channel;
}

void LaneTable::Declare(const std::string* id, std::string block,
                        const Json& element, const Request& request) {
  std::optional<Channel> channel = ParseChannel(element);
  if (!channel) {
    ++unusable_;
    return;
  }
  channel->is_signal = block.starts_with("signal/");
  const std::optional<uint32_t> index = Add(*std::move(channel), request);
  if (!index) return;
  by_block_.try_emplace(std::move(block), *index);
  if (id != nullptr) by_id_.try_emplace(*id, *index);
}

void LaneTable::DeclareOmens(const Json& wshard, const Request& request) {
  const Json* list = MemberAt(wshard, "omen_channels");
  if (list == nullptr || !list->is_array()) return;
  for (const Json& element : *list) {
    const std::string* block = Text(MemberAt(element, "block"));
    if (block == nullptr || !block->starts_with("omen/")) continue;
    std::optional<Channel> channel = ParseChannel(element);
    if (!channel || !channel->dtype) continue;
    const std::optional<uint32_t> index = Add(*std::move(channel), request);
    if (!index) return;
    omens_.try_emplace(*block, *index);
  }
}

std::optional<uint32_t> LaneTable::Add(Channel channel,
                                       const Request& request) {
  // A table without this channel is never used: opening fails after an
  // interrupt or refused memory.
  if (!request.CheckMemory() || !AdmitGrowth(channels_)) return std::nullopt;
  channels_.push_back(std::move(channel));
  return static_cast<uint32_t>(channels_.size() - 1);
}

const LaneTable::Channel* LaneTable::At(const Names& names,
                                        std::string_view name) const {
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &channels_[found->second];
}

const LaneTable::Channel* LaneTable::SignalOf(std::string_view path) const {
  path = path.substr(0, kMaxChannelIdBytes);
  while (true) {
    const size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return nullptr;
    path = path.substr(0, slash);
    const Channel* channel = At(by_block_, "signal/" + std::string(path));
    if (channel == nullptr) channel = At(by_id_, path);
    if (channel != nullptr && channel->is_signal) return channel;
  }
}

std::optional<uint64_t> LaneTable::SignalElements(std::string_view id) const {
  const Channel* channel = At(by_block_, "signal/" + std::string(id));
  if (channel == nullptr) return std::nullopt;
  return channel->elements;
}

std::optional<Lane> LaneTable::FlatF32(uint64_t size, const char* source,
                                       bool guess) const {
  if (!length_ || *length_ == 0) return std::nullopt;
  const uint64_t elements = size / sizeof(float) / *length_;
  if (!IsEach(size, length_, elements * sizeof(float))) return std::nullopt;
  return Steps(DType::kF32, {elements}, elements, size, source, guess);
}

std::optional<Lane> LaneTable::Action(std::string_view id,
                                      uint64_t size) const {
  const Channel* channel = At(by_id_, id);
  if (channel != nullptr && channel->dtype) {
    std::optional<Lane> lane =
        Steps(*channel->dtype, channel->shape, channel->elements, size,
              "channel of the same id", true);
    if (lane) return lane;
  }
  return FlatF32(size, "not declared: f32, the rule of the reference readers",
                 true);
}

std::optional<Lane> LaneTable::Prediction(std::string_view path, uint64_t size,
                                          bool uncertainty) const {
  const Channel* signal = SignalOf(path);
  if (signal == nullptr) return std::nullopt;
  const auto as = [&](DType dtype, const char* source) -> std::optional<Lane> {
    const std::optional<uint64_t> step =
        CheckedMul(signal->elements, DTypeSize(dtype));
    if (!step || !IsEach(size, length_, *step)) return std::nullopt;
    return Steps(dtype, signal->shape, signal->elements, size, source, true);
  };
  std::optional<Lane> lane;
  if (signal->dtype) lane = as(*signal->dtype, "inferred: as its signal");
  if (!lane) lane = as(DType::kF32, "inferred: f32 in the shape of its signal");
  if (!lane && uncertainty && IsEach(size, length_, sizeof(float))) {
    lane = Scalars(DType::kF32, size, "inferred: one f32 a step", true);
  }
  return lane;
}

std::optional<Lane> LaneTable::Find(std::string_view name, uint64_t size,
                                    std::string* why_not) const {
  if (const Channel* channel = At(by_block_, name)) {
    std::optional<Lane> lane;
    if (channel->dtype) {
      lane = Steps(*channel->dtype, channel->shape, channel->elements, size,
                   kDeclared, false);
    }
    if (!lane && why_not != nullptr) {
      *why_not = channel->dtype
                     ? "its bytes are not a whole number of declared steps"
                     : "its declared dtype " + Quote(channel->dtype_text) +
                           " is unknown";
    }
    return lane;
  }
  std::optional<Lane> lane = DeclaredOmen(name, size);
  if (!lane) lane = Undeclared(name, size);
  if (!lane && why_not != nullptr && IsLaneName(name)) {
    *why_not = fmt::format(
        "meta/channels does not declare it, and its {} bytes fit no rule for "
        "such a lane",
        size);
  }
  return lane;
}

std::optional<Lane> LaneTable::DeclaredOmen(std::string_view name,
                                            uint64_t size) const {
  const Channel* channel = At(omens_, name);
  if (channel == nullptr) return std::nullopt;
  return Steps(*channel->dtype, channel->shape, channel->elements, size,
               kDeclaredOmen, false);
}

std::optional<Lane> LaneTable::Undeclared(std::string_view name,
                                          uint64_t size) const {
  if (name == "reward") {
    if (IsEach(size, length_, sizeof(double))) {
      return Scalars(DType::kF64, size, "implied, 8 bytes a step", true);
    }
    return Scalars(DType::kF32, size, kImplied);
  }
  if (name == "done") {
    if (IsEach(size, length_, sizeof(float))) {
      return Scalars(DType::kF32, size, "inferred from size", true);
    }
    return Scalars(DType::kBool, size, kImplied);
  }
  if (name == "time/ticks") return Scalars(DType::kI32, size, kImplied);
  if (name == "time/timestamps_ns") return Scalars(DType::kI64, size, kImplied);

  const auto below = [&](std::string_view prefix) {
    const bool is = name.starts_with(prefix) && name.size() > prefix.size();
    return is ? std::optional(name.substr(prefix.size())) : std::nullopt;
  };
  if (const auto id = below("action/")) return Action(*id, size);
  if (below("omen/latent_action_codebook/")) {
    return Scalars(DType::kI32, size, kImplied);
  }
  if (below("omen/latent_action/")) return FlatF32(size, kImplied, false);
  if (const auto path = below("omen/")) return Prediction(*path, size, false);
  if (const auto path = below("uncert/")) return Prediction(*path, size, true);
  return std::nullopt;
}

}  // namespace ctxfs::wshard
