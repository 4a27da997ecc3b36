// SPDX-License-Identifier: Apache-2.0
#include "core/container/foreign/magics.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ctxfs {
namespace {

using std::literals::operator""sv;

std::string_view Extension(std::string_view value) {
  return ExtensionOf(AsBytes(value));
}

TEST(Magics, TellTheExtensionByTheFirstBytes) {
  EXPECT_EQ(Extension("\x89PNG\r\n\x1A\n..."), "png");
  EXPECT_EQ(Extension("\xFF\xD8\xFF\xE0"), "jpg");
  EXPECT_EQ(Extension("GIF87a"), "gif");
  EXPECT_EQ(Extension("GIF89a..."), "gif");
  EXPECT_EQ(Extension("fLaC"), "flac");
  EXPECT_EQ(Extension("OggS"), "ogg");
  EXPECT_EQ(Extension("ID3\x04"), "mp3");
  EXPECT_EQ(Extension("II*\0"sv), "tif");
  EXPECT_EQ(Extension("MM\0*"sv), "tif");
  EXPECT_EQ(Extension("\x1A\x45\xDF\xA3"), "mkv");
  EXPECT_EQ(Extension("%PDF-1.7"), "pdf");
  EXPECT_EQ(Extension("\x93NUMPY\x01"), "npy");
  EXPECT_EQ(Extension("\x1F\x8B"), "gz");
  EXPECT_EQ(Extension("\x28\xB5\x2F\xFD"), "zst");
  EXPECT_EQ(Extension("PK\3\4"), "zip");
}

TEST(Magics, LookIntoRiffAndBoxes) {
  EXPECT_EQ(Extension("RIFF1234WEBP"), "webp");
  EXPECT_EQ(Extension("RIFF1234WAVE"), "wav");
  EXPECT_EQ(Extension("RIFF1234AVI "), "avi");
  EXPECT_EQ(Extension("RIFF\0\0\0\0CDXA"sv), "bin");
  EXPECT_EQ(Extension("\0\0\0\x18"
                      "ftypM4A "sv),
            "m4a");
  EXPECT_EQ(Extension("\0\0\0\x18"
                      "ftypavif"sv),
            "avif");
  EXPECT_EQ(Extension("\0\0\0\x18"
                      "ftypheic"sv),
            "heic");
  EXPECT_EQ(Extension("\0\0\0\x18"
                      "ftypisom"sv),
            "mp4");
  EXPECT_EQ(Extension("\0\0\0\x18"
                      "ftyp"sv),
            "mp4");
}

TEST(Magics, CompareTheSizeInABitmap) {
  EXPECT_EQ(Extension("BM\x08\0\0\0ab"sv), "bmp");
  EXPECT_EQ(Extension("BM\x09\0\0\0ab"sv), "bin");
  EXPECT_EQ(Extension("BM"), "txt");
}

TEST(Magics, TellMp3FramesByTheirHeader) {
  EXPECT_EQ(Extension("\xFF\xFB\x90"), "mp3");
  EXPECT_EQ(Extension("\xFF\xFB"), "bin") << "it is too short";
  EXPECT_EQ(Extension("\xFF\xFD\x90"), "bin") << "layer II";
  EXPECT_EQ(Extension("\xFF\xFB\x00"sv), "bin") << "free bit rate";
  EXPECT_EQ(Extension("\xFF\xFB\xF0"), "bin") << "no bit rate";
  EXPECT_EQ(Extension("\xFF\xFB\x9C"), "bin") << "no sampling rate";
}

TEST(Magics, TellTextAndJson) {
  EXPECT_EQ(Extension(" {\"a\": 1}\n"), "json");
  EXPECT_EQ(Extension("[1]"), "json");
  EXPECT_EQ(Extension("{"), "txt");
  EXPECT_EQ(Extension("[1}"), "txt");
  EXPECT_EQ(Extension("a cat\r\n\tand a dog"), "txt");
  EXPECT_EQ(Extension("\n"), "txt");
  EXPECT_EQ(Extension("\xC3\xA9"), "txt");
  EXPECT_EQ(Extension(""), "bin");
  EXPECT_EQ(Extension("a\0"sv), "bin");
  EXPECT_EQ(Extension("a\x1B[0m"), "bin");
  EXPECT_EQ(Extension("a\x7F"), "bin");
  EXPECT_EQ(Extension("\xC3"), "bin");
  EXPECT_EQ(Extension("\xED\xA0\x80"), "bin") << "a surrogate";
}

}  // namespace
}  // namespace ctxfs
