// SPDX-License-Identifier: Apache-2.0
//
// The files of a GGUF model (docs/gguf.md, section 9).
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/documents.h"
#include "core/content/made_once.h"
#include "core/formats/gguf/gguf.h"
#include "core/formats/gguf/limits.h"
#include "core/formats/gguf/metadata_text.h"
#include "core/formats/gguf/tokenizer.h"

namespace ctxfs::gguf {

namespace {

/// metadata.json, which does not exist if it would be too long.
class MetadataFile final : public FileTable {
 public:
  MetadataFile(std::shared_ptr<const Source> source,
               std::shared_ptr<const GgufHeader> header)
      : FileTable({}),
        source_(source),
        text_([source = std::move(source),
               header = std::move(header)](const ReadContext& context) {
          return GgufMetadataText(source, header, context);
        }) {}

  uint32_t count() const override { return 1; }
  std::optional<std::string_view> Path(
      uint32_t /*file*/, std::string& /*scratch*/) const override {
    return "metadata.json";
  }
  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    if (Status same = source_->CheckUnchanged(); !same) {
      return std::move(same).error();
    }
    return text_.Get(context);
  }
  Result<bool> Exists(uint32_t file, Cost most,
                      const ReadContext& context) const override {
    if (most < Cost::kDecode) return true;
    const Result<Content> opened = Open(file, context);
    if (opened) return true;
    if (opened.error().code == Code::kLimit) return false;
    return opened.error();
  }
  Cost exists_cost() const override { return Cost::kDecode; }

 private:
  const std::shared_ptr<const Source> source_;
  const MadeOnce text_;
};

}  // namespace

Container::Tables GgufContainer::Files() const {
  const Part& first = parts_.front();
  Tables files = {
      TensorFiles(),
      std::make_shared<const MetadataFile>(first.source, first.header),
      ValueFiles(),
      FixedFile(Role::kRaw, "header",
                Content(Range{first.source, 0, nullptr}, first.header->end))};
  for (auto& table : GgufTokenizerFiles(first.source, first.header)) {
    files.push_back(std::move(table));
  }
  return files;
}

Exports GgufContainer::Export() const {
  Exports exports = TensorExports();
  exports.bundle_name = "model";
  return exports;
}

// The metadata of views/model.safetensors: scalars as text, and metadata.json
// if it is short.
Json GgufContainer::Metadata() const {
  const Part& first = parts_.front();
  Json metadata = Json::object();
  uint64_t bytes = 0;
  GgufReader in(*first.source, first.header->layout, 0);
  for (const GgufPair& pair : first.header->pairs) {
    const std::string key(first.header->keys[pair.key]);
    if (pair.type == kGgufArray || !IsUtf8(key)) continue;
    in.Seek(pair.value_at);
    std::string text;
    if (pair.type == kGgufString) {
      const uint64_t length = in.Count();
      if (length > kMostCopiedMetadata) continue;
      in.Append(length, text);
      if (!IsUtf8(text)) continue;
    } else {
      AppendGgufScalar(pair.type, in, text);
      std::erase(text, '"');  // "NaN" and "inf" have quotes in JSON
    }
    if (!in.ok()) return Json(Json::value_t::discarded);
    bytes += key.size() + text.size();
    if (bytes > kMostCopiedMetadata) break;
    metadata[key] = text;
  }
  GgufMetadataWriter writer(*first.source, *first.header);
  GgufMetadataWriter::State state;
  std::string text;
  while (!state.done && text.size() <= kMostCopiedMetadata) {
    if (Status written = writer.Write(state, text); !written) {
      return Json(Json::value_t::discarded);
    }
  }
  if (text.size() <= kMostCopiedMetadata) {
    metadata["metadata.json"] = text;
  }
  return metadata;
}

}  // namespace ctxfs::gguf
