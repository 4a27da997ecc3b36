// SPDX-License-Identifier: Apache-2.0
#include "core/base/json/json_head.h"

#include "core/base/json/json.h"

namespace ctxfs {
namespace {

class HeadVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool /*is_array*/) override {
    members_.try_emplace(Joined(path));
    return true;
  }
  void Leave(const Path& /*path*/) override {}
  void Scalar(const Path& path, Json value) override {
    members_.try_emplace(Joined(path),
                         value.is_string() ? value.get<std::string>() : "");
  }

  std::map<std::string, std::string> Take() { return std::move(members_); }

 private:
  static std::string Joined(const Path& path) {
    std::string joined;
    for (size_t i = 0; i < path.size(); ++i) {
      if (i > 0) joined += '/';
      joined += path[i];
    }
    return joined;
  }

  std::map<std::string, std::string> members_;
};

}  // namespace

std::map<std::string, std::string> JsonHead(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return {};
  HeadVisitor visitor;
  // WalkJson fails where the text is truncated, after it has visited the
  // members before.
  (void)WalkJson(text, JsonDialect::kStandard, visitor);
  return visitor.Take();
}

}  // namespace ctxfs
