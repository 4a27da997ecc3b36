// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/formats/mcap/chunks.h"
#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// The fields of messages that are arrays.
enum class Field : uint8_t { kLogTime, kPublishTime, kSequence };
constexpr uint32_t kFields = 3;

/// "log_time", "publish_time" or "sequence".
const char* FieldName(Field field);
constexpr uint64_t FieldWidth(Field field) {
  return field == Field::kSequence ? 4 : 8;
}

/// A message: its fields, and where its data is.
struct FoundMessage {
  MessageRecord fields;
  std::shared_ptr<const Block> block;  // null: outside of chunks
  uint64_t data;                       // byte of the block or the file
  uint64_t size;
};

/// Finds the messages of a recording. `index` must outlive this object and the
/// contents that it returns.
class Messages {
 public:
  Messages(std::shared_ptr<const Index> index,
           std::shared_ptr<const Chunks> chunks)
      : index_(std::move(index)), chunks_(std::move(chunks)) {}

  const Index& index() const { return *index_; }
  const Chunks& chunks() const { return *chunks_; }
  const Channel& channel(uint32_t number) const {
    return index_->channels[number];
  }

  /// Finds message `message` of channel `channel`. Decodes its chunk.
  Result<FoundMessage> Find(uint32_t channel, uint32_t message,
                            const ReadContext& context) const;
  /// Like Find, of a message in run `run`, which has this layout.
  Result<FoundMessage> FindIn(uint32_t channel, size_t run,
                              const std::shared_ptr<const Layout>& layout,
                              uint32_t message, const Request& request) const;
  /// The layout of the chunk of run `run`; null outside of chunks.
  Result<std::shared_ptr<const Layout>> LayoutOf(
      uint32_t channel, size_t run, const ReadContext& context) const;
  /// The size of its data, if the index has it.
  std::optional<uint64_t> KnownSize(uint32_t channel, uint32_t message) const;
  /// Its data.
  Content DataOf(const FoundMessage& message) const;

  /// The chunk of a message; nullopt if it is outside of chunks.
  std::optional<uint32_t> ChunkOf(uint32_t channel, uint32_t message) const;
  /// The verdict of all chunks of a channel: failed if one has failed, passed
  /// if all have passed.
  Verdict VerdictOf(uint32_t channel) const;
  /// Whether all messages of a channel are in chunks.
  bool IsChunked(uint32_t channel) const;

 private:
  Result<FoundMessage> FindLoose(const LooseMessage& place,
                                 const Request& request) const;

  const std::shared_ptr<const Index> index_;
  const std::shared_ptr<const Chunks> chunks_;
};

/// The values of a field of all messages of a channel, in their order.
Content FieldValues(std::shared_ptr<const Messages> messages, uint32_t channel,
                    Field field);

}  // namespace ctxfs::mcap
