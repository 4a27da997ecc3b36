// SPDX-License-Identifier: Apache-2.0
//
// Builds the file tables of a GGUF model (docs/formats/gguf.md, section 9).
#include <string>
#include <string_view>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/content/made_once.h"
#include "core/formats/gguf/facts.h"
#include "core/formats/gguf/gguf.h"
#include "core/formats/gguf/hub_names.h"
#include "core/formats/gguf/limits.h"
#include "core/formats/gguf/metadata_text.h"
#include "core/formats/gguf/tokenizer.h"

namespace ctxfs::gguf {

namespace {

/// Returns metadata.json; no file if it would be too long.
std::shared_ptr<const FileTable> MetadataFile(
    const std::shared_ptr<const Source>& source,
    const std::shared_ptr<const GgufHeader>& header) {
  const auto text = std::make_shared<const MadeOnce>(
      [source, header](const ReadContext& context) {
        return GgufMetadataText(source, header, context);
      });
  const auto open = [source, text](
                        uint32_t /*file*/,
                        const ReadContext& context) -> Result<Content> {
    CTXFS_TRY(source->CheckUnchanged());
    return text->Get(context);
  };
  return MakeTable(
      {.placement = {.exists_cost = Cost::kDecode},
       .path =
           [](uint32_t /*file*/, std::string& /*scratch*/) {
             return std::string_view("metadata.json");
           },
       .open = open,
       .exists = [open](uint32_t file, Cost most,
                        const ReadContext& context) -> Result<bool> {
         if (most < Cost::kDecode) return true;
         const Result<Content> opened = open(file, context);
         if (opened) return true;
         if (opened.error().code == Code::kLimit) return false;
         return opened.error();
       }});
}

}  // namespace

Container::Tables GgufContainer::Files() const {
  const Part& first = parts_.front();
  Tables files = {
      TensorFiles(), MetadataFile(first.source, first.header), ValueFiles(),
      FixedFile(Role::kRaw, "header",
                Content(Range{first.source, 0, nullptr}, first.header->end))};
  files.insert(files.end(), tokenizer_.begin(), tokenizer_.end());
  return files;
}

Exports GgufContainer::Export() const {
  Exports exports = TensorExports();
  exports.bundle_name = "model";
  return exports;
}

std::optional<NamesOnHub> GgufContainer::FindHubNames(
    const ReadContext& context) const {
  return GgufHubNames(*parts_.front().source, header(), context);
}

Status GgufContainer::AddFacts(const ReadContext& context, Facts& facts) const {
  return AddGgufFacts(*parts_.front().source, header(), *Entries(), context,
                      facts);
}

// Returns the metadata for views/model.safetensors: scalars as text, and
// metadata.json if it is short.
Json GgufContainer::Metadata(const Request& request) const {
  const Part& first = parts_.front();
  Json metadata = Json::object();
  uint64_t bytes = 0;
  GgufReader in(*first.source, first.header->layout, 0, request);
  for (const GgufPair& pair : first.header->pairs) {
    const std::string_view key = first.header->keys[pair.key];
    if (pair.type == kGgufArray || !IsUtf8(key)) continue;
    in.Seek(pair.value_at);
    std::string text;
    if (pair.type == kGgufString) {
      const uint64_t length = in.Count();
      if (length > kMaxCopiedMetadata) continue;
      in.Append(length, text);
      if (!IsUtf8(text)) continue;
    } else {
      AppendGgufScalar(pair.type, in, text);
      std::erase(text, '"');  // "NaN" and "inf" have quotes in JSON
    }
    if (!in.ok()) return Json(Json::value_t::discarded);
    bytes += key.size() + text.size();
    if (bytes > kMaxCopiedMetadata) break;
    if (!HeapAllowance::Check()) return Json(Json::value_t::discarded);
    metadata[std::string(key)] = std::move(text);
  }
  GgufMetadataWriter writer(*first.source, *first.header, request);
  GgufMetadataWriter::State state;
  std::string text;
  while (!state.done && text.size() <= kMaxCopiedMetadata) {
    if (Status written = writer.Write(state, text); !written) {
      return Json(Json::value_t::discarded);
    }
  }
  if (text.size() <= kMaxCopiedMetadata) {
    metadata["metadata.json"] = std::move(text);
  }
  return metadata;
}

}  // namespace ctxfs::gguf
