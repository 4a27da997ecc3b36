// SPDX-License-Identifier: Apache-2.0
#include "core/base/heap/heap_allowance.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/base/interrupt.h"
#include "core/base/json/json.h"
#include "core/base/json/json_writer.h"
#include "core/base/limits.h"
#include "core/codec/codec.h"
#include "core/io/source.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/interrupts.h"

namespace ctxfs {
namespace {

constexpr HeapAllowance::Refusal kRefusal{Code::kLimit, "index="};

class HeapAllowanceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  }
};

TEST_F(HeapAllowanceTest, Item28_14_InterruptsWorkThatTakesTooMuch) {
  const HeapAllowance allowance(100'000, kRefusal);
  const AllowedWork work(NeverInterrupted());
  EXPECT_TRUE(work.Check());
  {
    const std::string some(90'000, 'x');
    EXPECT_TRUE(work.Check());
    const std::string more(90'000, 'x');
    EXPECT_EQ(work.Check().error().code, Code::kInterrupted);
    const Status refused = HeapAllowance::Check();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kLimit);
    EXPECT_EQ(refused.error().what,
              "takes more than 100000 bytes of memory (see -o index=)");
  }
  EXPECT_TRUE(allowance.exceeded());
  EXPECT_FALSE(work.Check()) << "what was made may lack parts";
}

TEST_F(HeapAllowanceTest, Item41_10_AsUtf8OfATextThatIsCutIsEmpty) {
  const std::string text(1000, '\xff');
  for (uint64_t most = 0; most < 8000; most += 100) {
    const HeapAllowance allowance(most, kRefusal);
    const std::string utf8 = AsUtf8(text);
    EXPECT_EQ(utf8.empty(), allowance.exceeded()) << most;
    if (!utf8.empty()) {
      EXPECT_EQ(utf8.size(), 3 * text.size());
    }
  }
}

TEST_F(HeapAllowanceTest, Item28_14_IsOfOneThreadAndOneScope) {
  {
    const HeapAllowance allowance(1, kRefusal);
    const std::string text(1000, 'x');
    std::thread([] { EXPECT_TRUE(HeapAllowance::Check()); }).join();
    const UnmeteredHeap cached;
    EXPECT_TRUE(HeapAllowance::Check());
  }
  EXPECT_TRUE(HeapAllowance::Check());
}

TEST_F(HeapAllowanceTest, Item28_14_WorkWithinWorkIsBoundedByBoth) {
  const HeapAllowance outer(100'000, kRefusal);
  std::string text;
  {
    const HeapAllowance inner(10'000, {Code::kNoMemory, "cache="});
    text.resize(20'000);
    EXPECT_EQ(HeapAllowance::Check().error().code, Code::kNoMemory);
    EXPECT_FALSE(outer.exceeded());
  }
  EXPECT_TRUE(HeapAllowance::Check());
  const HeapAllowance inner(1'000'000, {Code::kNoMemory, "cache="});
  text.resize(200'000);
  EXPECT_EQ(HeapAllowance::Check().error().code, Code::kLimit);
  EXPECT_TRUE(outer.exceeded());
  EXPECT_FALSE(inner.exceeded());
}

TEST_F(HeapAllowanceTest, Item28_14_StaysExceededOnceTheWorkWithinIsOver) {
  const HeapAllowance outer(100'000, kRefusal);
  {
    const HeapAllowance inner(limits::kGiB, kRefusal);
    const std::string text(200'000, 'x');
    EXPECT_FALSE(HeapAllowance::Check());
  }
  EXPECT_TRUE(outer.exceeded());
  EXPECT_FALSE(HeapAllowance::Check());
}

TEST_F(HeapAllowanceTest, Item28_14_GrowsWhenThereIsMore) {
  class Growing final : public HeapAllowance {
   public:
    Growing() : HeapAllowance(1000, kRefusal) {}
    int grown = 0;

   private:
    uint64_t Grow(uint64_t bytes) override {
      return ++grown > 2 ? 0 : bytes + 50'000;
    }
  };
  Growing outer;
  const HeapAllowance inner(limits::kGiB, kRefusal);
  std::string text(10'000, 'x');
  EXPECT_TRUE(HeapAllowance::Check());
  EXPECT_TRUE(HeapAllowance::Check());
  EXPECT_EQ(outer.grown, 1);
  text.resize(100'000);
  EXPECT_TRUE(HeapAllowance::Check());
  EXPECT_FALSE(outer.exceeded());
  text.resize(1'000'000);
  EXPECT_FALSE(HeapAllowance::Check());
  EXPECT_TRUE(outer.exceeded());
}

TEST_F(HeapAllowanceTest, Item28_14_BoundsBuffersBeforeTheyAreMade) {
  const MemorySource source(std::string(1 << 20, 'x'));
  const HeapAllowance allowance(1 << 19, kRefusal);
  const HeapMeter meter;
  EXPECT_TRUE(ReadBuffer(source, 0, 1 << 18, "index", Request()));
  EXPECT_EQ(ReadBuffer(source, 0, 1 << 20, "index", Request()).error().code,
            Code::kLimit);
}

TEST_F(HeapAllowanceTest, Item28_14_BoundsJson) {
  std::string text = "[";
  for (int i = 0; i < 200'000; ++i) text += "{},";
  text += "0]";
  EXPECT_TRUE(ParseJson(text));
  const HeapAllowance allowance(1 << 20, kRefusal);
  const auto parsed = ParseJson(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kLimit);
}

TEST_F(HeapAllowanceTest, Item28_14_AsksBeforeJsonGrows) {
  std::string elements = "[";
  for (int i = 0; i < 1'000'000; ++i) elements += "0,";
  elements += "0]";
  const std::string one = '"' + std::string(8 << 20, 'x') + '"';
  for (const std::string& text : {elements, one}) {
    constexpr int64_t kMax = 6 << 20;
    const int64_t before = thread_heap_bytes;
    most_thread_heap_bytes = before;
    const HeapAllowance allowance(kMax, kRefusal);
    const auto parsed = ParseJson(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kLimit);
    // The library's message quotes what it has read of the token.
    EXPECT_LE(most_thread_heap_bytes - before, 3 * kMax / 2);
  }
}

TEST_F(HeapAllowanceTest, Item28_14_AsksBeforeAWrittenTextGrows) {
  constexpr int64_t kMax = 1 << 20;
  const int64_t before = thread_heap_bytes;
  most_thread_heap_bytes = before;
  const HeapAllowance allowance(kMax, kRefusal);
  JsonWriter json(limits::kGiB, {Code::kLimit, "too long"});
  json.BeginArray();
  while (json.ok()) json.Value("an item of many");
  EXPECT_EQ(std::move(json).Take().error().what,
            "takes more than 1048576 bytes of memory (see -o index=)");
  EXPECT_LE(most_thread_heap_bytes - before, kMax);
}

TEST_F(HeapAllowanceTest, Item28_14_AsksBeforeTextOfJsonGrows) {
  const Json value = Json::array_t(1'000'000, 1);
  const std::string whole = JsonLine(value);
  constexpr int64_t kMax = 1 << 20;
  const int64_t before = thread_heap_bytes;
  most_thread_heap_bytes = before;
  const HeapAllowance allowance(kMax, kRefusal);
  EXPECT_LT(JsonLine(value).size(), whole.size());
  EXPECT_TRUE(allowance.exceeded());
  EXPECT_LE(most_thread_heap_bytes - before, kMax);
}

TEST_F(HeapAllowanceTest, Item28_14_InterruptsJson) {
  const std::string text = '"' + std::string(1 << 20, 'x') + '"';
  SettableInterrupt interrupt;
  const AllowedWork work(interrupt);
  const Request request(work);
  EXPECT_TRUE(ParseJson(text, request));
  interrupt.Set();
  const auto parsed = ParseJson(text, request);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kInterrupted);
  EXPECT_TRUE(ParseJson(text)) << "of no request";
}

TEST_F(HeapAllowanceTest, Item42_1_ARequestEndsWithItsMemory) {
  const std::string text = '"' + std::string(1 << 20, 'x') + '"';
  const HeapAllowance allowance(1 << 20, kRefusal);
  const AllowedWork work(NeverInterrupted());
  const Request request(work);
  EXPECT_TRUE(request.CheckMemory(1 << 19));
  const auto parsed = ParseJson(text, request);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kLimit);
  EXPECT_EQ(request.CheckMemory().error().code, Code::kLimit);
  EXPECT_EQ(request.Check().error().code, Code::kInterrupted);
}

TEST_F(HeapAllowanceTest, Item28_14_AsksBeforeAFrameIsDecoded) {
  const std::string frame = Zstd(std::string(32 << 20, '\0'));
  const HeapAllowance allowance(16 << 20, kRefusal);
  const auto decoded = DecodeZstdFrame(AsBytes(frame), limits::kGiB);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kLimit);
}

}  // namespace
}  // namespace ctxfs
