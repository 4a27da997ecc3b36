// SPDX-License-Identifier: Apache-2.0
//
// What a request says of the reads that follow, when it reaches a source.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/request.h"
#include "core/content/content_source.h"
#include "core/content/read_through.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using Likelihood = Ahead::Likelihood;

/// Remembers the request of the last read.
class AskedSource final : public Source {
 public:
  uint64_t size() const override { return 3 * limits::kMiB; }
  Status ReadAt(uint64_t /*offset*/, MutableBytes /*out*/,
                const Request& request) const override {
    ahead = request.ahead();
    caller = request.caller();
    return {};
  }

  mutable Ahead ahead;
  mutable uint64_t caller = 0;
};

class RequestTest : public testing::Test {
 protected:
  Content Whole() const { return {Range{source, 0, nullptr}, source->size()}; }
  ReadContext Of(const Request& request) { return {cache, request}; }

  std::shared_ptr<AskedSource> source = std::make_shared<AskedSource>();
  BlockCache cache{4 * limits::kMiB};
};

TEST_F(RequestTest, Item42_1_AReadSaysWhatFollowsInItsExtent) {
  Window window;
  ASSERT_TRUE(Ok(Whole().Read(100, 1000, Of(Request()), window)));
  EXPECT_EQ(source->ahead.likelihood, Likelihood::kIfOnward);
  EXPECT_EQ(source->ahead.bytes, source->size() - 1100);
}

TEST_F(RequestTest, Item42_1_AllThatIsReadThroughIsCertain) {
  ASSERT_TRUE(Ok(ReadThrough(Whole(), Of(Request()),
                             [](Bytes /*piece*/) { return Status(); })));
  EXPECT_EQ(source->ahead.likelihood, Likelihood::kCertain);
  EXPECT_EQ(source->ahead.bytes, 0U);
}

TEST_F(RequestTest, Item42_1_SourcesPassTheRequestOn) {
  const Request request(NeverInterrupted(), /*wait=*/nullptr, /*caller=*/7);
  const ContentSource inner(source, Whole(), cache);
  Buffer out(100);
  ASSERT_TRUE(Ok(inner.ReadAt(0, out.span(), request)));
  EXPECT_EQ(source->caller, 7U);
  const SliceSource slice(source, 10, 1000);
  ASSERT_TRUE(Ok(slice.ReadAt(0, out.span(),
                              request.With(Ahead{5, Likelihood::kCertain}))));
  EXPECT_EQ(source->ahead.likelihood, Likelihood::kCertain);
  EXPECT_EQ(source->ahead.bytes, 5U);
}

TEST_F(RequestTest, Item42_1_WithinACertainRequestAllReadsAre) {
  const Request certain = Request().With(Ahead{0, Likelihood::kCertain});
  const Request inner = certain.With(Ahead{9, Likelihood::kIfOnward});
  EXPECT_EQ(inner.ahead().likelihood, Likelihood::kCertain);
  EXPECT_EQ(inner.ahead().bytes, 9U);
  EXPECT_EQ(Request().ahead().likelihood, Likelihood::kUnknown);
}

TEST_F(RequestTest, Item42_1_AnInterruptedRequestDecodesNoNestedContainer) {
  int decoded = 0;
  Content content;
  content.Append(
      Decoded{std::make_shared<const TestBlock>(Key{9, 9}, 10,
                                                [&]() -> Result<Buffer> {
                                                  ++decoded;
                                                  return BufferOf("0123456789");
                                                }),
              0},
      10);
  const ContentSource nested(source, std::move(content), cache);
  SettableInterrupt interrupt;
  interrupt.Set();
  Buffer out(10);
  EXPECT_TRUE(Fails(nested.ReadAt(0, out.span(), Request(interrupt)),
                    Code::kInterrupted));
  EXPECT_EQ(decoded, 0);
  EXPECT_TRUE(Ok(nested.ReadAt(0, out.span(), Request())));
}

}  // namespace
}  // namespace ctxfs
