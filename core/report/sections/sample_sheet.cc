// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/sample_sheet.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text/text.h"
#include "core/container/foreign/magics.h"
#include "core/container/interfaces/shows_samples.h"
#include "core/report/container_report.h"
#include "core/report/script_json.h"

namespace ctxfs {
namespace {

constexpr size_t kSamples = 12;
constexpr size_t kCaptionBytes = 1000;
constexpr uint32_t kMaxPixels = 4096;  // a side

struct Sides {
  uint32_t width;
  uint32_t height;
};

uint32_t BigEndian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::optional<Sides> SidesOfPng(std::string_view file) {
  if (file.size() < 24 || file.substr(12, 4) != "IHDR") return std::nullopt;
  return Sides{BigEndian(file, 16, 4), BigEndian(file, 20, 4)};
}

/// Returns the sides in the first frame header, skipping earlier segments.
std::optional<Sides> SidesOfJpeg(std::string_view file) {
  size_t at = 2;
  while (file.size() - at >= 9 && file[at] == '\xFF') {
    const uint32_t marker = BigEndian(file, at + 1, 1);
    if (marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 &&
                       marker != 0xC8 && marker != 0xCC;
    if (frame)
      return Sides{BigEndian(file, at + 7, 2), BigEndian(file, at + 5, 2)};
    const size_t length = 2 + BigEndian(file, at + 2, 2);
    if (length < 4 || length > file.size() - at) return std::nullopt;
    at += length;
  }
  return std::nullopt;
}

}  // namespace

Result<const char*> PictureType(Bytes file) {
  const std::string_view text = AsText(file);
  const std::string_view extension = ExtensionOf(file);
  const bool png = extension == "png";
  if (!png && extension != "jpg") {
    return Error{Code::kUnsupported, "neither JPEG nor PNG"};
  }
  const std::optional<Sides> sides = png ? SidesOfPng(text) : SidesOfJpeg(text);
  if (!sides || sides->width == 0 || sides->height == 0) {
    return Error{Code::kUnsupported, "a picture of unknown size"};
  }
  if (sides->width > kMaxPixels || sides->height > kMaxPixels) {
    return Error{Code::kUnsupported,
                 "a picture of more than 4096 pixels a side"};
  }
  return png ? "image/png" : "image/jpeg";
}

Result<Json> SampleSheet(const Container& container, uint64_t& picture_bytes,
                         const ReadContext& context) {
  Json sheet = Json::array();
  const auto* const shows = dynamic_cast<const ShowsSamples*>(&container);
  if (shows == nullptr) return sheet;
  for (ShownSample& sample :
       CTXFS_TRY(shows->FirstSamples(kSamples, context))) {
    Json shown = {{"key", CutText(sample.key, kEntryNameBytes)},
                  {"caption", CutText(sample.caption, kCaptionBytes)}};
    if (!sample.picture.empty()) {
      const Result<const char*> type = PictureType(AsBytes(sample.picture));
      if (!type) {
        sample.note = type.error().what;
      } else if (!ReportRoom::Take(picture_bytes, sample.picture.size())) {
        sample.note = "too many pictures for a page";
      } else {
        shown["type"] = *type;
        shown["picture"] = Base64(sample.picture);
      }
    }
    if (!sample.note.empty()) {
      shown["note"] = CutText("no picture: " + sample.note, kCaptionBytes);
    }
    sheet.push_back(std::move(shown));
  }
  return sheet;
}

}  // namespace ctxfs
