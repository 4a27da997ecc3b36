// SPDX-License-Identifier: Apache-2.0
//
// What reading anywhere in a large deflate member costs.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/work.h"
#include "core/compressed/seekable_deflate.h"
#include "core/io/source.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::zip {
namespace {

constexpr uint64_t kStretch = 16 * limits::kMiB;

/// Bytes of a text of stretches that all are equal.
std::string Stretch(uint64_t at, size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>((at + i) % kStretch / limits::kMiB + 'a');
  }
  return text;
}

/// Deflate of `count` stretches, each of which is compressed alone.
std::string DeflateStretches(uint64_t count) {
  std::string input = Stretch(0, kStretch);
  std::string one(limits::kMiB, '\0');
  z_stream stream{};
  EXPECT_EQ(
      deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(one.data());
  stream.avail_out = static_cast<uInt>(one.size());
  EXPECT_EQ(deflate(&stream, Z_FULL_FLUSH), Z_OK);
  one.resize(stream.total_out);
  (void)deflateEnd(&stream);
  std::string stored;
  for (uint64_t i = 0; i < count; ++i) stored += one;
  return stored + std::string("\x03\0", 2);
}

class SeekInMember : public testing::Test {
 protected:
  static constexpr uint64_t kStretches = 192;  // 3 GiB

  /// Reads 4 KiB, for which at most `most` bytes may be decoded.
  Status Read4KiB(uint64_t at, uint64_t most) {
    std::string bytes(4 * limits::kKiB, '\0');
    Work work(most, stored_);
    CTXFS_TRY(
        ReadInto(content_, at,
                 {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()},
                 ReadContext(cache_).With(work)));
    EXPECT_TRUE(bytes == Stretch(at, bytes.size())) << at;
    return {};
  }

  BlockCache cache_{64 * limits::kMiB};
  uint64_t stored_ = 0;
  const Content content_ = [this] {
    const std::string stored = DeflateStretches(kStretches);
    stored_ = stored.size();
    return std::make_shared<const SeekableDeflate>(
               DeflateData{std::make_shared<MemorySource>(stored), 0, stored_,
                           kStretches * kStretch, Checksum{}},
               std::make_shared<AtomicVerdict>(Verdict::kUnknown))
        ->Open();
  }();
};

// The cache has room for 8 parts: what is read first must not displace the
// places that others are read from.
TEST_F(SeekInMember, Item42_5_AnyRandomReadDecodesAtMost32MiB) {
  ASSERT_TRUE(Ok(Read4KiB(0, UINT64_MAX)));
  std::mt19937_64 random(42);
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = random() % (content_.size() - 4 * limits::kKiB);
    // A place takes less than 100 KiB.
    ASSERT_TRUE(Ok(Read4KiB(at, 32 * limits::kMiB + 400 * limits::kKiB))) << at;
  }
  EXPECT_LE(cache_.stats().bytes, 64 * limits::kMiB);
}

TEST_F(SeekInMember, Item42_5_PlacesThatWereDroppedAreMadeAgain) {
  ASSERT_TRUE(Ok(Read4KiB(0, UINT64_MAX)));
  cache_.Drop();
  ASSERT_TRUE(Ok(Read4KiB(content_.size() - 5000, UINT64_MAX)));
  for (uint64_t at = kStretch; at < content_.size(); at += 23 * kStretch) {
    ASSERT_TRUE(Ok(Read4KiB(at, 33 * limits::kMiB))) << at;
  }
}

/// A source of which a byte changes behind its back.
class Changing final : public Source {
 public:
  explicit Changing(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    std::copy_n(AsBytes(bytes_).subspan(offset).begin(), out.size(),
                out.begin());
    return {};
  }
  void Change(size_t at) { bytes_[at] ^= 1; }

 private:
  std::string bytes_;
};

// The blocks of this member are stored, so any byte decodes.
TEST(DeflateMember, Item42_5_APartThatChangesAfterItWasVerifiedIsNotServed) {
  constexpr uint64_t kSize = 20'000'000;
  const auto source = std::make_shared<Changing>(RawDeflate(Noise(kSize), 0));
  BlockCache cache(limits::kMiB);
  const auto verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  const Content content =
      std::make_shared<const SeekableDeflate>(
          DeflateData{source, 0, source->size(), kSize, Checksum{}}, verdict)
          ->Open();
  ASSERT_TRUE(Ok(content.Verify(cache)));
  source->Change(12'000'000);
  Buffer bytes(10);
  EXPECT_TRUE(Ok(ReadInto(content, 1000, bytes.span(), cache)));
  for (const uint64_t at : {9'000'000U, 19'000'000U}) {
    EXPECT_TRUE(Fails(ReadInto(content, at, bytes.span(), cache), Code::kStale))
        << at;
  }
}

}  // namespace
}  // namespace ctxfs::zip
