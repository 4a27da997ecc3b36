// SPDX-License-Identifier: Apache-2.0
#include "core/container/unreadable.h"

namespace ctxfs {
namespace {

class Unreadable final : public Container {
 public:
  Unreadable(std::shared_ptr<const Source> source, Error reason)
      : Container(std::move(source)), reason_(reason.Text()) {
    Warn({std::move(reason.what), reason.offset, Severity::kDamage});
  }

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update({{"format", nullptr}, {"entries", 0}, {"error", reason_}});
  }
  Tables Files() const override { return {}; }

 private:
  const std::string reason_;
};

}  // namespace

std::shared_ptr<const Container> UnreadableContainer(
    std::shared_ptr<const Source> source, Error reason) {
  if (source == nullptr) source = std::make_shared<MemorySource>("");
  return std::make_shared<const Unreadable>(std::move(source),
                                            std::move(reason));
}

}  // namespace ctxfs
