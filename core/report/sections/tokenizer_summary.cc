// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/tokenizer_summary.h"

#include <cstdint>
#include <string>
#include <utility>

#include "core/report/script_json.h"

namespace ctxfs {
namespace {

constexpr size_t kShownTokens = 60;
constexpr size_t kTokenBytes = 100;

/// Counts the tokens of the vocabulary: an object by token (BPE, WordPiece,
/// WordLevel) or an array of pairs of token and score (Unigram).
class TokenizerVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool is_array) override {
    if (IsIn(path, "model", "merges", 3)) {
      ++merges_;
      return false;  // skips the texts of the pair
    }
    if (IsIn(path, "model", "vocab", 3)) return is_array;
    if (path.empty() || path[0] == "model") {
      return path.size() < 2 ||
             (path.size() == 2 && (path[1] == "vocab" || path[1] == "merges"));
    }
    if (path[0] != "added_tokens") return false;
    if (path.size() == 2) ++added_;
    return path.size() <= 2;
  }
  void Leave(const Path& /*path*/) override {}

  void Scalar(const Path& path, Json value) override {
    if (IsIn(path, "model", "type", 2) && value.is_string()) {
      type_ = CutText(value.get_ref<const std::string&>(), kTokenBytes);
    } else if (IsIn(path, "model", "vocab", 3)) {
      AddToken(path[2]);
    } else if (IsIn(path, "model", "vocab", 4) && value.is_string()) {
      AddToken(value.get_ref<const std::string&>());
    } else if (IsIn(path, "model", "merges", 3)) {
      ++merges_;
    } else if (path.size() == 3 && path[0] == "added_tokens" &&
               path[2] == "content" && value.is_string() &&
               added_tokens_.size() < kShownTokens) {
      added_tokens_.push_back(
          CutText(value.get_ref<const std::string&>(), kTokenBytes));
    }
  }

  Json Summary() && {
    return {{"type", std::move(type_)},
            {"tokens", tokens_},
            {"merges", merges_},
            {"added", added_},
            {"first_tokens", std::move(first_tokens_)},
            {"added_tokens", std::move(added_tokens_)}};
  }

 private:
  static bool IsIn(const Path& path, const char* first, const char* second,
                   size_t depth) {
    return path.size() == depth && path[0] == first && path[1] == second;
  }

  void AddToken(const std::string& token) {
    ++tokens_;
    if (first_tokens_.size() == kShownTokens) return;
    first_tokens_.push_back(CutText(token, kTokenBytes));
  }

  std::string type_;
  uint64_t tokens_ = 0;
  uint64_t merges_ = 0;
  uint64_t added_ = 0;
  Json first_tokens_ = Json::array();
  Json added_tokens_ = Json::array();
};

}  // namespace

Result<Json> TokenizerSummary(std::string_view text, const Request& request) {
  TokenizerVisitor visitor;
  CTXFS_TRY(WalkJson(text, JsonDialect::kPython, visitor, request));
  return std::move(visitor).Summary();
}

}  // namespace ctxfs
