// SPDX-License-Identifier: Apache-2.0
//
// Every file of golden/mem8 against its JSON, by the library alone; the same
// through a real mount is tests/mount/test_golden_mem8.py.
#include <map>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

/// All that `actual` has of what `expected` has; numbers that are no integers
/// to a millionth.
void ExpectHas(const Json& actual, const Json& expected,
               const std::string& at) {
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      ASSERT_TRUE(actual.contains(key)) << at << "/" << key;
      ExpectHas(actual[key], value, at + "/" + key);
    }
  } else if (expected.is_array()) {
    ASSERT_EQ(actual.size(), expected.size()) << at;
    for (size_t i = 0; i < expected.size(); ++i) {
      ExpectHas(actual[i], expected[i], at + "/" + std::to_string(i));
    }
  } else if (expected.is_number_float()) {
    EXPECT_NEAR(actual.get<double>(), expected.get<double>(), 1e-6) << at;
  } else {
    EXPECT_EQ(actual, expected) << at;
  }
}

/// The text of a warning without the byte that it is about.
std::string WithoutByte(const std::string& text) {
  return text.starts_with("byte ") ? text.substr(text.find(": ") + 2) : text;
}

std::set<std::string> Texts(const Json& warnings) {
  std::set<std::string> texts;
  for (const Json& text : warnings) texts.insert(WithoutByte(text));
  return texts;
}

class Mem8Golden : public testing::TestWithParam<std::string> {
 protected:
  Result<ContainerPtr> Open(const OpenOptions& options = {}) {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(golden::PathOf(GetParam()));
    EXPECT_TRUE(source);
    return OpenContainer(*source, options);
  }

  void CheckRefusal(const Error& error);
  void CheckMem8(const ContainerPtr& container);
  void CheckArchive(const ContainerPtr& container);
  void CheckMember(const ContainerTree& branch, const Json& member,
                   const Json& shown);

  std::optional<NodeId> Find(const ContainerTree& branch,
                             std::string_view path) {
    for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
      if (branch.tree().Path(node) == path) return node;
    }
    return std::nullopt;
  }
  Result<std::string> Read(const ContainerTree& branch,
                           const std::string& path) {
    const std::optional<NodeId> node = Find(branch, path);
    if (!node) return Error{Code::kNotFound, path};
    const Result<Content> content = branch.Open(*node, cache_);
    if (!content) return content.error();
    Result<std::string> bytes = ReadAll(*content, cache_);
    if (bytes) {
      EXPECT_EQ(*branch.Size(*node, cache_), bytes->size());
    }
    return bytes;
  }
  Json ReadJson(const ContainerTree& branch, const std::string& path) {
    const Result<std::string> text = Read(branch, path);
    EXPECT_TRUE(text) << path << ": " << text.error().Text();
    return text ? Json::parse(*text) : Json();
  }

  const Json answer_ = golden::AnswerOf(GetParam());
  BlockCache cache_{limits::kMiB};
};

void Mem8Golden::CheckRefusal(const Error& error) {
  const std::string kind = answer_["kind"];
  const std::string expected = answer_.value("error", "");
  EXPECT_NE(error.offset, kNoOffset);
  if (answer_["open"] == "other") {
    EXPECT_EQ(error.code, Code::kNotContainer);
    // The words after which the file is named.
    EXPECT_NE(error.what.find(": "), std::string::npos) << error.what;
    if (!expected.empty()) {
      EXPECT_NE(error.what.find(expected), std::string::npos) << error.what;
    }
  } else if (expected.starts_with("not a") || kind == "empty") {
    EXPECT_EQ(error.code, Code::kNotContainer);
  } else if (expected.starts_with("unsupported version")) {
    EXPECT_EQ(error.code, Code::kVersion);
    EXPECT_EQ(error.what, expected);
  } else if (expected.find("limit") != std::string::npos) {
    EXPECT_EQ(error.code, Code::kLimit);
    EXPECT_NE(error.what.find(expected), std::string::npos) << error.what;
  } else {
    EXPECT_EQ(error.code, Code::kCorrupt) << error.what;
  }
}

void Mem8Golden::CheckMem8(const ContainerPtr& container) {
  const ContainerTree branch(container);
  if (answer_.contains("warnings")) {
    EXPECT_EQ(Texts(container->Info(LoneContext())["warnings"]),
              Texts(answer_["warnings"]));
  }
  const Json header = ReadJson(branch, "header.json");
  if (answer_.contains("header"))
    ExpectHas(header, answer_["header"], "header");
  for (const char* key : {"crc", "byte_order", "length_convention"}) {
    if (answer_.contains(key)) {
      EXPECT_EQ(header[key], answer_[key]) << key;
    }
  }
  const Json strings = ReadJson(branch, "strings.json");
  if (answer_.contains("strings")) {
    EXPECT_EQ(strings, answer_["strings"]);
  }
  if (answer_.contains("strings_count")) {
    EXPECT_EQ(strings.size(), answer_["strings_count"]);
  }
  const Json summary = ReadJson(branch, ".ctxfs/summary.json");
  if (answer_.contains("path_sha256")) {
    EXPECT_EQ(golden::Sha256(summary["sections"][0]["decoded"]["path"]),
              answer_["path_sha256"]);
  }
  ExpectHas(summary["sections"], answer_["sections"], "sections");
  std::map<int, int> seen;
  uint32_t entry = 0;
  for (const Json& section : answer_["sections"]) {
    const int type = section["type"];
    const std::string again =
        ++seen[type] > 1 ? "~" + std::to_string(seen[type]) : "";
    if (!section["name"].is_null()) {
      ExpectHas(ReadJson(branch,
                         section["name"].get<std::string>() + again + ".json"),
                section["decoded"], section["name"]);
    }
    char name[16];
    std::snprintf(name, sizeof(name), "0x%04x", static_cast<unsigned>(type));
    const Result<std::string> raw = Read(
        branch, ".ctxfs/raw/sections/" + std::string(name) + again + ".bin");
    ASSERT_TRUE(raw);
    EXPECT_EQ(raw->size(), section["payload_bytes"]);
    if (section["decoded"].contains("raw_hex")) {
      EXPECT_EQ(Hex(*raw), section["decoded"]["raw_hex"]);
    }
    const EntryInfo info = DescribeEntry(*container, entry++);
    EXPECT_EQ(info.offset, section["offset"].get<uint64_t>() + 3);
    EXPECT_EQ(info.verified, answer_["crc"] == "absent" ? "none" : "yes");
  }
  EXPECT_EQ(EntryCount(*container), entry);
}

void Mem8Golden::CheckMember(const ContainerTree& branch, const Json& member,
                             const Json& shown) {
  SCOPED_TRACE(member.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (member.contains("path_hex")) {
    EXPECT_EQ(shown["path_hex"], member["path_hex"]);
  }
  EXPECT_EQ(shown["offset_field"], member["offset_field"]);
  EXPECT_EQ(shown["size_field"], member["size_field"]);
  const std::string expected = member["status"];
  const std::string status = shown["status"];
  if (expected.starts_with("skip")) {
    EXPECT_EQ(status, expected);
    return;  // where it is shown is the mount test's
  }
  if (expected.starts_with("out of range") ||
      expected == "range overlaps header or table") {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(Read(branch, shown["shown_as"]).error().code, Code::kCorrupt);
    return;
  }
  EXPECT_TRUE(status.starts_with("ok")) << status;
  if (member.contains("file_offset") && !member["file_offset"].is_null()) {
    EXPECT_EQ(shown["file_offset"], member["file_offset"]);
  }
  if (member["sha256"].is_null()) return;
  const std::string path = GetParam().find("bad_paths") == std::string::npos
                               ? member["path"]
                               : shown["shown_as"];
  std::optional<NodeId> node = Find(branch, path);
  for (NodeId any = 0; !node && any < branch.tree().node_count(); ++any) {
    if (Hex(branch.tree().Path(any)) == member.value("path_hex", ""))
      node = any;
  }
  ASSERT_TRUE(node) << path;
  if (const ChildContainer* hanging = branch.Hanging(*node)) {
    const auto source = hanging->open_source(LoneContext());
    ASSERT_TRUE(source);
    const Result<Buffer> bytes =
        ReadBuffer(**source, 0, (*source)->size(), "member");
    ASSERT_TRUE(bytes);
    EXPECT_EQ(golden::Sha256(std::string(AsText(bytes->span()))),
              member["sha256"]);
  } else {
    const Result<Content> content = branch.Open(*node, cache_);
    ASSERT_TRUE(content);
    EXPECT_EQ(golden::Sha256(*ReadAll(*content, cache_)), member["sha256"]);
  }
}

void Mem8Golden::CheckArchive(const ContainerPtr& container) {
  const ContainerTree branch(container);
  const Json archive = ReadJson(branch, "archive.json");
  ExpectHas(archive["header"], answer_["header"], "header");
  EXPECT_EQ(Texts(archive["warnings"]), Texts(answer_["warnings"]));
  // With entries taken out of the count the data seem to start earlier.
  if (!answer_.contains("note")) {
    EXPECT_EQ(archive["data_starts_at"], answer_["data_starts_at"]);
  }
  EXPECT_TRUE(answer_["offsets_relative_to"].get<std::string>().starts_with(
      archive["offsets_relative_to"].get<std::string>()));
  const size_t listed = answer_.value("listed", answer_["members"].size());
  ASSERT_EQ(archive["members"].size(), listed);
  for (size_t i = 0; i < listed; ++i) {
    CheckMember(branch, answer_["members"][i], archive["members"][i]);
  }
}

TEST_P(Mem8Golden, BehavesAsItsJsonSays) {
  const std::string open = answer_["open"];
  const Result<ContainerPtr> container = Open();
  if (open == "error" || open == "other" ||
      (open == "ok-optional" && !container)) {
    ASSERT_FALSE(container);
    CheckRefusal(container.error());
    return;
  }
  ASSERT_TRUE(container) << container.error().Text();
  if (open == "header-only" || open == "error-on-read") {
    const ContainerTree branch(*container);
    EXPECT_EQ(Read(branch, "header.json").has_value(), open == "header-only");
    for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
      const std::string path = branch.tree().Path(node);
      if (branch.tree().IsDirectory(node) || path == "header.json") continue;
      const bool stored =
          path.starts_with(".ctxfs/raw/") || path == ".ctxfs/summary.json";
      if (path.starts_with(".ctxfs/") && !stored) continue;
      EXPECT_FALSE(branch.Open(node, cache_)) << path;
      EXPECT_EQ(*branch.Size(node, cache_), 0U) << path;
    }
    EXPECT_TRUE(Read(branch, ".ctxfs/container"));
    // Where nothing is to be checked, everything is served.
    if (open == "error-on-read") {
      OpenOptions unchecked;
      unchecked.verify = false;
      const Result<ContainerPtr> anyway = Open(unchecked);
      ASSERT_TRUE(anyway);
      EXPECT_EQ(ReadJson(ContainerTree(*anyway), "strings.json"),
                answer_["strings"]);
    }
    return;
  }
  if (answer_["kind"] == "m8a") {
    CheckArchive(*container);
  } else {
    CheckMem8(*container);
  }
}

// A probe sees the head alone; what it claims is never a relative that has
// another name, nor text.
TEST_P(Mem8Golden, IsClaimedWhenItIsOurs) {
  const std::string bytes = golden::ReadFile(golden::PathOf(GetParam()));
  const bool claimed = IsContainer(
      AsBytes(bytes).first(std::min(bytes.size(), limits::kProbeBytes)));
  const std::string open = answer_["open"];
  if (open == "other") {
    EXPECT_FALSE(claimed);
  } else if (open == "ok" && !bytes.starts_with("\x28\xB5\x2F\xFD")) {
    EXPECT_TRUE(claimed);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Mem8Golden,
                         testing::ValuesIn(golden::Containers("mem8")),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
