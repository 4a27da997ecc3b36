// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json/json.h"

namespace ctxfs::wshard {

/// Dtype and shape of a lane: an array whose first dimension is time.
struct Lane {
  DType dtype = DType::kU8;
  std::vector<uint64_t> shape;  // [T, ...]
  const char* source = "";      // the rule that decided, for info.json
  bool guess = false;           // neither declared nor fixed by the name
};

/// Dtype and shape of every lane of an episode, from the declarations in
/// meta/channels and meta/wshard, and from names and sizes of lanes
/// (docs/formats/wshard.md, section 3).
class LaneTable {
 public:
  /// `channels`: meta/channels in either form, or null; the first of equal
  /// names counts. `length`: number of steps, if known. `wshard`: meta/wshard,
  /// or null; unusable members of its omen_channels are ignored. Incomplete if
  /// `request` is interrupted.
  explicit LaneTable(const Json& channels = nullptr,
                     std::optional<uint64_t> length = std::nullopt,
                     const Json& wshard = nullptr,
                     const Request& request = Request());

  /// Returns dtype and shape of the entry `name` of `size` bytes; nullopt if it
  /// is not an array. If it is not an array although its name or a declaration
  /// makes it a lane, sets `why_not` to the reason.
  std::optional<Lane> Find(std::string_view name, uint64_t size,
                           std::string* why_not = nullptr) const;

  /// Returns the number of elements in a step of the signal `id`, if declared.
  std::optional<uint64_t> SignalElements(std::string_view id) const;

  std::optional<uint64_t> length() const { return length_; }
  size_t channel_count() const { return channels_.size(); }
  /// Number of invalid elements of meta/channels.
  size_t unusable() const { return unusable_; }

 private:
  struct Channel {
    std::optional<DType> dtype;
    std::string dtype_text;       // as declared
    std::vector<uint64_t> shape;  // of one step
    uint64_t elements = 1;        // the shape's product
    bool is_signal = false;
  };
  using Names = std::map<std::string, uint32_t, std::less<>>;

  /// Parses dtype and shape; nullopt if the shape is invalid.
  static std::optional<Channel> ParseChannel(const Json& element);
  void DeclareAll(const Json& channels, const Request& request);
  void Declare(const std::string* id, std::string block, const Json& element,
               const Request& request);
  void DeclareOmens(const Json& wshard, const Request& request);
  /// Returns the number of the added channel; nullopt after an interrupt or
  /// refused memory, after which opening fails.
  std::optional<uint32_t> Add(Channel channel, const Request& request);
  const Channel* At(const Names& names, std::string_view name) const;
  /// Returns the signal of a prediction "SIGNAL/...": the longest declared id
  /// that is a prefix of the path.
  const Channel* SignalOf(std::string_view path) const;
  /// Returns the lane of a prediction that meta/wshard declares.
  std::optional<Lane> DeclaredOmen(std::string_view name, uint64_t size) const;
  /// Returns the lane of an entry that nothing declares.
  std::optional<Lane> Undeclared(std::string_view name, uint64_t size) const;
  std::optional<Lane> Action(std::string_view id, uint64_t size) const;
  std::optional<Lane> Prediction(std::string_view path, uint64_t size,
                                 bool uncertainty) const;
  /// Returns an f32 lane; `size` determines its number of elements per step.
  std::optional<Lane> FlatF32(uint64_t size, const char* source,
                              bool guess) const;

  std::optional<uint64_t> length_;
  std::vector<Channel> channels_;
  Names by_block_;  // "signal/rgb" -> channel
  Names by_id_;     // "rgb" -> channel
  Names omens_;     // "omen/rgb/model" -> channel, of meta/wshard
  size_t unusable_ = 0;
};

/// Returns the entry that an element of meta/channels declares, if valid.
std::optional<std::string> ChannelBlock(const Json& element);

/// Parses "f32", "float32", "Float32", ... as a dtype.
std::optional<DType> LaneDType(std::string_view name);

}  // namespace ctxfs::wshard
