// SPDX-License-Identifier: Apache-2.0
//
// The SampleShards and ColumnShards of golden/shard-profiles against their
// JSON, by the library alone.
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/find_path.h"

namespace ctxfs {
namespace {

/// The containers of golden/shard-profiles with one of these endings.
std::vector<std::string> Profiles(std::vector<const char*> endings) {
  std::vector<std::string> names = golden::Containers("shard-profiles");
  std::erase_if(names, [&endings](const std::string& name) {
    return std::none_of(
        endings.begin(), endings.end(),
        [&name](const char* ending) { return name.ends_with(ending); });
  });
  return names;
}

class ProfileGolden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto source = FileSource::Open(golden::PathOf(GetParam()));
    ASSERT_TRUE(source);
    auto container = OpenContainer(*source, OpenOptions());
    ASSERT_TRUE(container) << container.error().Text();
    branch_ = std::make_unique<ContainerTree>(*container);
  }

  std::string Read(const std::string& path) {
    const std::optional<NodeId> node = Find(*branch_, path);
    EXPECT_TRUE(node) << path;
    if (!node) return {};
    const Result<uint64_t> size = branch_->Size(*node, cache_);
    const Result<Content> content = branch_->Open(*node, cache_);
    EXPECT_TRUE(size && content) << path;
    if (!size || !content) return {};
    EXPECT_EQ(content->size(), *size) << path;
    const Result<std::string> bytes = ReadAll(*content, cache_);
    EXPECT_TRUE(bytes) << path << ": " << bytes.error().Text();
    return bytes ? *bytes : std::string();
  }

  const Json answer_ = golden::AnswerOf(GetParam());
  std::unique_ptr<ContainerTree> branch_;
  BlockCache cache_{limits::kGiB};
};

/// A value of a column in the notation of the digests.
std::string ValueText(const std::string& data, size_t at, int type) {
  constexpr int kBool = 1;
  constexpr int kFloat32 = 11;
  constexpr int kFloat64 = 12;
  constexpr int kUuid = 16;
  constexpr size_t kWidths[] = {0, 1, 1, 2, 4, 8, 1, 2,  4,
                                8, 2, 4, 8, 0, 0, 8, 16, 2};
  const size_t width = kWidths[type];
  std::string bytes = data.substr(at * width, width);
  if (type == kBool) return bytes[0] != 0 ? "true" : "false";
  if (type == kUuid) return '"' + Hex(bytes) + '"';
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  if (type == kFloat32 || type == kFloat64) {
    std::reverse(bytes.begin(), bytes.end());
    return std::string(type == kFloat32 ? "{\"f32_bits\": \""
                                        : "{\"f64_bits\": \"") +
           Hex(bytes) + "\"}";
  }
  const bool is_signed = (type >= 2 && type <= 5) || type == 15;
  const auto unused = static_cast<int>(64 - 8 * width);
  const auto number = static_cast<int64_t>(value << unused) >> unused;
  return '"' + (is_signed ? std::to_string(number) : std::to_string(value)) +
         '"';
}

/// A row: a value, or a list of as many as the column's rows have.
std::string RowText(const std::string& data, size_t row, int type,
                    size_t per_row) {
  if (per_row == 1) return ValueText(data, row, type);
  std::string text;
  for (size_t k = 0; k < per_row; ++k) {
    text += (k == 0 ? "[" : ", ") + ValueText(data, row * per_row + k, type);
  }
  return text + "]";
}

TEST_P(ProfileGolden, EntriesAreWhatTheyWere) {
  const Container& container = branch_->container();
  const Json& entries = answer_["entries"];
  ASSERT_EQ(EntryCount(container), entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const Result<Content> content = OpenEntry(container, i);
    ASSERT_TRUE(content);
    const Result<std::string> bytes = ReadAll(*content, cache_);
    ASSERT_TRUE(bytes) << bytes.error().Text();
    EXPECT_EQ(golden::Sha256(*bytes), entries[i]["payload_sha256"]);
    EXPECT_EQ(DescribeEntry(container, i).verified, "yes");
  }
}

class SampleGolden : public ProfileGolden {};

TEST_P(SampleGolden, SamplesAreWhatTheyDecodeTo) {
  for (const Json& sample : answer_["samples"]) {
    if (!sample.contains("value")) continue;
    const std::string name = sample["entry"];
    const std::string path = "views/json/" + name + ".json";
    EXPECT_EQ(Json::parse(Read(path)), sample["value"]);
  }
}

class ColumnGolden : public ProfileGolden {};

TEST_P(ColumnGolden, ColumnsAreWhatTheyDecodeTo) {
  EXPECT_EQ(Json::parse(Read("schema.json")), answer_["schema"]);
  const size_t rows = answer_["expected"]["rows"];
  for (const Json& column : answer_["schema"]["columns"]) {
    const std::string name = column["name"];
    const int type = column["type"];
    const std::string data = Read("columns/" + name);
    const std::string valid = column["nullable"]
                                  ? Read("columns/" + name + ".valid")
                                  : std::string(rows, '\1');
    ASSERT_EQ(valid.size(), rows);
    const std::optional<EntryInfo> info =
        branch_->Describe(*Find(*branch_, "columns/" + name), LoneContext());
    const std::vector<uint64_t> shape =
        info->shape.value_or(std::vector<uint64_t>());
    const size_t per_row = type == 11 && shape.size() == 2 ? shape[1] : 1;
    std::istringstream lines(data);
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
      std::string value;
      if (type == 13) {
        std::getline(lines, value);
      } else {
        value = RowText(data, row, type, per_row);
      }
      text += (row == 0 ? "" : "\n") + (valid[row] != 0 ? value : "\\N");
    }
    EXPECT_EQ(golden::Sha256(text), answer_["column_value_sha256"][name])
        << name;
  }
}

TEST_P(ProfileGolden, ArraysAreAsLongAsTheirShapes) {
  for (const ArrayInfo& array : ArraysOf(branch_->container())) {
    uint64_t size = DTypeSize(array.dtype);
    for (const uint64_t dim : array.shape) size *= dim;
    const Result<Content> content = array.open(cache_);
    ASSERT_TRUE(content) << array.name;
    EXPECT_EQ(content->size(), size) << array.name;
    // Views of columns leave out the directory that all of them are in.
    const bool column = !Find(*branch_, array.name);
    EXPECT_EQ(*ReadAll(*content, cache_),
              Read(column ? "columns/" + array.name : array.name));
  }
}

TEST_P(ProfileGolden, AnyWindowIsThatOfTheWhole) {
  const NameTree& tree = branch_->tree();
  for (NodeId node = 0; node < tree.node_count(); ++node) {
    if (tree.IsDirectory(node)) continue;
    const Result<Content> content = branch_->Open(node, cache_);
    if (!content) continue;
    const Result<std::string> whole = ReadAll(*content, cache_);
    ASSERT_TRUE(whole) << tree.Path(node);
    Window window;
    for (size_t at = 0; at < whole->size(); at += 1 + whole->size() / 23) {
      ASSERT_TRUE(content->Read(at, 29, cache_, window));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      EXPECT_EQ(part, whole->substr(at, 29)) << tree.Path(node) << " " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ProfileGolden,
                         testing::ValuesIn(Profiles({".smpl", ".cshard"})),
                         golden::TestName);
INSTANTIATE_TEST_SUITE_P(Golden, SampleGolden,
                         testing::ValuesIn(Profiles({".smpl"})),
                         golden::TestName);
INSTANTIATE_TEST_SUITE_P(Golden, ColumnGolden,
                         testing::ValuesIn(Profiles({".cshard"})),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
