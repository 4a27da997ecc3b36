// SPDX-License-Identifier: Apache-2.0
#include "core/report/entry_rows.h"

#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/report/container_summary.h"
#include "core/report/script_json.h"

namespace ctxfs {
namespace {

constexpr size_t kMaxWords = 1000;
constexpr const char* kOtherWord = "(other)";
constexpr size_t kWordBytes = 100;
constexpr size_t kNoteBytes = 300;
constexpr size_t kShownDimensions = 16;

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == kShownDimensions) return text + ",...]";
    text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace

size_t EntryRows::Word(const std::string& word) {
  std::string shown = CutText(word, kWordBytes);
  if (words_.size() >= kMaxWords && !words_.contains(shown)) {
    shown = kOtherWord;
  }
  return words_.emplace(std::move(shown), words_.size()).first->second;
}

void EntryRows::Add(const EntryInfo& info) {
  if (rows_ >= most_rows_ || text_.size() >= most_bytes_) return;
  Json row = Json::array();
  row.push_back(info.name ? Json(CutText(*info.name, kEntryNameBytes))
                          : Json());
  row.push_back(Word(info.kind));
  row.push_back(Word(info.codec));
  row.push_back(Word(info.dtype));
  row.push_back(info.shape ? ShapeText(*info.shape) : "");
  row.push_back(CutText(info.checksum, kWordBytes));
  row.push_back(info.shape ? Json(ElementsOf(*info.shape)) : Json());
  row.push_back(info.size);
  row.push_back(info.stored_size);
  row.push_back(info.offset == kNoOffset ? Json() : Json(info.offset));
  row.push_back(CutText(info.note, kNoteBytes));
  text_ += (rows_ == 0 ? "" : ",\n") + ScriptJson(row);
  ++rows_;
}

std::string EntryRows::Text() const {
  std::vector<std::string> words(words_.size());
  for (const auto& [word, index] : words_) words[index] = word;
  return "{\"words\":" + ScriptJson(words) + ",\"rows\":[" + text_ + "]}";
}

}  // namespace ctxfs
