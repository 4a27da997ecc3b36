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
  const char* source = "";      // the rule that decided, for people
  bool guess = false;           // the file does not declare it
};

/// Dtype and shape of every lane of an episode, from what its meta/channels and
/// meta/wshard declare and what the names and sizes of lanes imply
/// (docs/formats/wshard.md, section 3).
class LaneTable {
 public:
  /// `channels` is meta/channels in either form, or null. Of channels with the
  /// same name the first counts. `length` is the number of steps, if known.
  /// `wshard` is meta/wshard, or null; of its omen_channels, those that cannot
  /// be used are ignored. If `request` is interrupted, it lacks some.
  explicit LaneTable(const Json& channels = nullptr,
                     std::optional<uint64_t> length = std::nullopt,
                     const Json& wshard = nullptr,
                     const Request& request = Request());

  /// Returns dtype and shape of the entry `name` of `size` bytes; nullopt if it
  /// is not an array. If it is a lane by its name or declared, `why_not` is
  /// then set to the reason.
  std::optional<Lane> Find(std::string_view name, uint64_t size,
                           std::string* why_not = nullptr) const;

  /// Elements of one step of the signal `id`, if it is declared.
  std::optional<uint64_t> SignalElements(std::string_view id) const;

  std::optional<uint64_t> length() const { return length_; }
  size_t channel_count() const { return channels_.size(); }
  /// Number of elements of meta/channels that are not valid.
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

  /// Parses dtype and shape; nullopt if the shape is not valid.
  static std::optional<Channel> ParseChannel(const Json& element);
  void DeclareAll(const Json& channels, const Request& request);
  void Declare(const std::string* id, std::string block, const Json& element,
               const Request& request);
  void DeclareOmens(const Json& wshard, const Request& request);
  /// Returns the number of a channel that was added; nullopt if opening fails.
  std::optional<uint32_t> Add(Channel channel, const Request& request);
  const Channel* At(const Names& names, std::string_view name) const;
  /// The signal of a prediction "SIGNAL/...": the longest declared id that the
  /// path starts with.
  const Channel* SignalOf(std::string_view path) const;
  /// The array of a prediction that meta/wshard declares.
  std::optional<Lane> DeclaredOmen(std::string_view name, uint64_t size) const;
  /// The array of an entry that neither declares.
  std::optional<Lane> Undeclared(std::string_view name, uint64_t size) const;
  std::optional<Lane> Action(std::string_view id, uint64_t size) const;
  std::optional<Lane> Prediction(std::string_view path, uint64_t size,
                                 bool uncertainty) const;
  /// f32 with as many elements a step as the size gives.
  std::optional<Lane> FlatF32(uint64_t size, const char* source,
                              bool guess) const;

  std::optional<uint64_t> length_;
  std::vector<Channel> channels_;
  Names by_block_;  // "signal/rgb" -> channel
  Names by_id_;     // "rgb" -> channel
  Names omens_;     // "omen/rgb/model" -> channel, of meta/wshard
  size_t unusable_ = 0;
};

/// The name of the entry that an element of meta/channels declares; nullopt if
/// it is not valid.
std::optional<std::string> ChannelBlock(const Json& element);

/// "f32", "float32", "Float32", ... as a dtype.
std::optional<DType> LaneDType(std::string_view name);

}  // namespace ctxfs::wshard
