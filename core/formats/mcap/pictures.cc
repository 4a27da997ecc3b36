// SPDX-License-Identifier: Apache-2.0
//
// Compressed pictures in messages (docs/formats/mcap.md, section 7).
#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/container/file_set.h"
#include "core/container/foreign/magics.h"
#include "core/formats/mcap/mcap.h"

namespace ctxfs::mcap {
namespace {

/// Returns the picture in a message's data; nullopt if there is none.
using FindPicture = std::optional<Bytes> (*)(Bytes data);

/// Takes a string or byte sequence of CDR: a length, aligned to 4 bytes, and
/// the bytes.
Bytes TakeCdr(ByteReader& in) {
  constexpr uint64_t kAlignment = 4;
  in.Skip((kAlignment - in.offset() % kAlignment) % kAlignment);
  const uint32_t length = in.U32();
  return in.Take(length);
}

/// Finds the picture in a sensor_msgs/msg/CompressedImage in CDR.
std::optional<Bytes> FindInCdr(Bytes data) {
  ByteReader in(data);
  in.Skip(1);
  constexpr uint8_t kLittleEndian = 1;
  if ((in.U8() & kLittleEndian) == 0) return std::nullopt;
  in.Skip(2);
  in.Skip(sizeof(int32_t) + sizeof(uint32_t));  // time stamp
  (void)TakeCdr(in);                            // frame
  (void)TakeCdr(in);                            // format
  const Bytes picture = TakeCdr(in);
  return in.ok() ? std::optional(picture) : std::nullopt;
}

/// Finds the picture in a sensor_msgs/CompressedImage of ROS 1.
std::optional<Bytes> FindInRos1(Bytes data) {
  ByteReader in(data);
  in.Skip(3 * sizeof(uint32_t));  // sequence and time stamp
  (void)TakeText(in);             // frame
  (void)TakeText(in);             // format
  const Bytes picture = AsBytes(TakeText(in));
  return in.ok() ? std::optional(picture) : std::nullopt;
}

/// Finds the picture in a foxglove.CompressedImage in protobuf, which is its
/// last field 2.
std::optional<Bytes> FindInProtobuf(Bytes data) {
  enum WireType : uint8_t { kVarint, kFixed64, kBytes, kFixed32 = 5 };
  constexpr uint64_t kDataField = 2;
  ByteReader in(data);
  std::optional<Bytes> found;
  while (in.ok() && in.remaining() > 0) {
    const uint64_t tag = in.Uvarint();
    switch (tag & 7) {
      case kVarint:
        (void)in.Uvarint();
        break;
      case kFixed64:
        in.Skip(sizeof(uint64_t));
        break;
      case kFixed32:
        in.Skip(sizeof(uint32_t));
        break;
      case kBytes: {
        const Bytes value = in.Take(in.Uvarint());
        if (tag >> 3 == kDataField) found = value;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return in.ok() ? found : std::nullopt;
}

struct PictureLayout {
  std::string_view schema;
  std::string_view encoding;
  FindPicture find;
};

constexpr std::array<PictureLayout, 3> kLayouts = {
    {{"sensor_msgs/msg/CompressedImage", "cdr", &FindInCdr},
     {"sensor_msgs/CompressedImage", "ros1", &FindInRos1},
     {"foxglove.CompressedImage", "protobuf", &FindInProtobuf}}};

/// Returns the function that finds the picture in a channel's messages; null if
/// they have none.
FindPicture PictureIn(const Index& index, const Channel& channel) {
  const Definition* const schema = index.SchemaOf(channel);
  if (schema == nullptr || channel.messages == 0) return nullptr;
  for (const PictureLayout& one : kLayouts) {
    if (one.schema == schema->name && one.encoding == channel.encoding) {
      return one.find;
    }
  }
  return nullptr;
}

/// Opens the picture in a message. Fails with kCorrupt if there is none.
Result<Content> OpenPicture(const Recording& recording, uint32_t channel,
                            uint32_t message, const ReadContext& context) {
  const Content data =
      CTXFS_TRY(recording.OpenMessage(channel, message, context));
  if (data.size() > limits::kPictureBytes) {
    return OverLimit("limit: bytes of a message with a picture",
                     limits::kPictureBytes);
  }
  // The window has the message in one slice, because a message is one extent.
  Window window;
  CTXFS_TRY(data.Read(0, static_cast<size_t>(data.size()), context, window));
  const Bytes bytes =
      window.slices().empty() ? Bytes() : window.slices().front();
  const FindPicture find =
      PictureIn(recording.index(), recording.ChannelAt(channel));
  const std::optional<Bytes> picture = find(bytes);
  if (!picture) {
    return Error{Code::kCorrupt, "picture: the message has no picture"};
  }
  return data.Slice(static_cast<uint64_t>(picture->data() - bytes.data()),
                    picture->size());
}

/// Returns the extension of a channel's pictures, judged by the first picture;
/// ".bin" if that cannot be read.
Result<std::string> PictureSuffix(const Recording& recording, uint32_t channel,
                                  const ReadContext& context) {
  const auto read = [&]() -> Result<std::string> {
    return ReadAll(CTXFS_TRY(OpenPicture(recording, channel, 0, context)),
                   context);
  };
  const Result<std::string> bytes = read();
  if (!bytes && !bytes.error().Permanent()) return bytes.error();
  return bytes ? "." + std::string(ExtensionOf(AsBytes(*bytes))) : ".bin";
}

}  // namespace

void Recording::AddPictureFiles(Tables& tables) const {
  for (uint32_t channel = 0; channel < index_.channels.size(); ++channel) {
    if (PictureIn(index_, ChannelAt(channel)) == nullptr) continue;
    Numbering numbering;
    numbering.find_suffix = [this, channel](const ReadContext& context) {
      return PictureSuffix(*this, channel, context);
    };
    tables.push_back(MakeTable(
        {.placement = {.role = Role::kViews,
                       .directory = "pictures/" + paths_[channel],
                       .numbering = std::move(numbering)},
         .count = ChannelAt(channel).messages,
         .path = &NoPath,
         .open =
             [this, channel](uint32_t message, const ReadContext& context) {
               return OpenPicture(*this, channel, message, context);
             },
         .owner = Share(*this)}));
  }
}

Result<std::vector<ShownSample>> Recording::FirstSamples(
    size_t most, const ReadContext& context) const {
  std::vector<ShownSample> samples;
  for (uint32_t channel = 0; channel < index_.channels.size(); ++channel) {
    if (PictureIn(index_, ChannelAt(channel)) == nullptr) continue;
    const uint32_t messages = ChannelAt(channel).messages;
    for (uint32_t i = 0; i < messages && samples.size() < most; ++i) {
      CTXFS_TRY(context.Check());
      const Result<Content> picture = OpenPicture(*this, channel, i, context);
      if (!picture && !picture.error().Permanent()) return picture.error();
      if (!picture) break;
      ShownSample sample{.key = fmt::format("{}/{:06}", paths_[channel], i)};
      if (picture->size() > kMaxPictureBytes) {
        sample.note = "it has more than 256 KiB";
      } else {
        sample.picture = CTXFS_TRY(ReadAll(*picture, context));
      }
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace ctxfs::mcap
