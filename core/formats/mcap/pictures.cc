// SPDX-License-Identifier: Apache-2.0
//
// Compressed pictures in messages (docs/formats/mcap.md, section 7).
#include <fmt/core.h>

#include <algorithm>
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

/// A part of a message's data.
struct Part {
  uint64_t at;
  uint64_t size;
};

/// How a message stores a picture.
using FindPicture = std::optional<Part> (*)(Bytes data);

/// Skips a string of CDR: aligned to 4 bytes after the encapsulation.
Bytes TakeCdr(ByteReader& in) {
  constexpr uint64_t kAlignment = 4;
  in.Skip((kAlignment - in.offset() % kAlignment) % kAlignment);
  const uint32_t length = in.U32();
  return in.Take(length);
}

std::optional<Part> PartOf(const ByteReader& in, Bytes picture) {
  if (!in.ok()) return std::nullopt;
  return Part{in.offset() - picture.size(), picture.size()};
}

/// sensor_msgs/msg/CompressedImage in CDR.
std::optional<Part> FindInCdr(Bytes data) {
  ByteReader in(data);
  in.Skip(1);
  constexpr uint8_t kLittleEndian = 1;
  if ((in.U8() & kLittleEndian) == 0) return std::nullopt;
  in.Skip(2);
  in.Skip(sizeof(int32_t) + sizeof(uint32_t));  // time stamp
  (void)TakeCdr(in);                            // frame
  (void)TakeCdr(in);                            // format
  const Bytes picture = TakeCdr(in);
  return PartOf(in, picture);
}

/// sensor_msgs/CompressedImage of ROS 1.
std::optional<Part> FindInRos1(Bytes data) {
  ByteReader in(data);
  in.Skip(3 * sizeof(uint32_t));  // sequence and time stamp
  (void)TakeText(in);             // frame
  (void)TakeText(in);             // format
  const std::string_view picture = TakeText(in);
  return PartOf(in, AsBytes(picture));
}

/// foxglove.CompressedImage in protobuf: the last field 2.
std::optional<Part> FindInProtobuf(Bytes data) {
  enum WireType : uint8_t { kVarint, kFixed64, kBytes, kFixed32 = 5 };
  constexpr uint64_t kDataField = 2;
  ByteReader in(data);
  std::optional<Part> found;
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
        const uint64_t length = in.Uvarint();
        const Bytes value = in.Take(length);
        if (tag >> 3 == kDataField) found = PartOf(in, value);
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

FindPicture LayoutOf(const Recording& recording, const Channel& channel) {
  const Definition* const schema = recording.SchemaOf(channel);
  if (schema == nullptr) return nullptr;
  for (const PictureLayout& one : kLayouts) {
    if (one.schema == schema->name && one.encoding == channel.encoding) {
      return one.find;
    }
  }
  return nullptr;
}

/// Numbers of the channels whose messages have compressed pictures.
std::vector<uint32_t> PictureChannels(const Recording& recording) {
  std::vector<uint32_t> channels;
  for (uint32_t i = 0; i < recording.index().channels.size(); ++i) {
    const Channel& channel = recording.index().channels[i];
    if (channel.messages > 0 && LayoutOf(recording, channel) != nullptr) {
      channels.push_back(i);
    }
  }
  return channels;
}

/// The picture in a message; fails with kCorrupt if there is none.
Result<Content> PictureIn(const Recording& recording, uint32_t channel,
                          uint32_t message, const ReadContext& context) {
  const FoundMessage found =
      CTXFS_TRY(recording.Find(channel, message, context));
  const Content data = recording.DataOf(found);
  if (data.size() > limits::kPictureBytes) {
    return OverLimit("limit: bytes of a message with a picture",
                     limits::kPictureBytes);
  }
  BlockCache::Pinned block;
  std::string loose;
  if (found.chunk) {
    block = CTXFS_TRY(context.Get(*recording.chunks().BlockOf(*found.chunk)));
  } else {
    loose = CTXFS_TRY(ReadAll(data, context));
  }
  const Bytes bytes = block != nullptr
                          ? Bytes(block->span())
                                .subspan(static_cast<size_t>(found.data),
                                         static_cast<size_t>(found.size))
                          : AsBytes(loose);
  const FindPicture find =
      LayoutOf(recording, recording.index().channels[channel]);
  const std::optional<Part> part = find(bytes);
  if (!part) {
    return Error{Code::kCorrupt, "picture: the message has no picture"};
  }
  return data.Slice(part->at, part->size);
}

/// The extension of a channel's pictures, by the first one.
Result<std::string> PictureSuffix(const Recording& recording, uint32_t channel,
                                  const ReadContext& context) {
  const auto read = [&]() -> Result<std::string> {
    const Content picture =
        CTXFS_TRY(PictureIn(recording, channel, 0, context));
    return ReadAll(picture, context);
  };
  const Result<std::string> bytes = read();
  if (!bytes && !bytes.error().Permanent()) return bytes.error();
  std::string suffix = ".";
  suffix += bytes ? ExtensionOf(AsBytes(*bytes)) : "bin";
  return suffix;
}

}  // namespace

Container::Tables Recording::PictureFiles() const {
  Tables tables;
  for (const uint32_t channel : PictureChannels(*this)) {
    Numbering numbering;
    numbering.find_suffix = [this, channel](const ReadContext& context) {
      return PictureSuffix(*this, channel, context);
    };
    tables.push_back(MakeTable(
        {.placement = {.role = Role::kViews,
                       .directory = "pictures/" + paths_[channel],
                       .numbering = std::move(numbering)},
         .count = index_->channels[channel].messages,
         .path = &NoPath,
         .open =
             [this, channel](uint32_t message, const ReadContext& context) {
               return PictureIn(*this, channel, message, context);
             },
         .owner = Share(*this)}));
  }
  return tables;
}

Result<std::vector<ShownSample>> Recording::FirstSamples(
    size_t most, const ReadContext& context) const {
  std::vector<ShownSample> samples;
  for (const uint32_t channel : PictureChannels(*this)) {
    const uint32_t messages = index_->channels[channel].messages;
    for (uint32_t i = 0; i < messages && samples.size() < most; ++i) {
      CTXFS_TRY(context.Check());
      const Result<Content> picture = PictureIn(*this, channel, i, context);
      if (!picture && !picture.error().Permanent()) return picture.error();
      if (!picture) break;
      ShownSample sample{.key = fmt::format("{}/{:06}", path(channel), i)};
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
