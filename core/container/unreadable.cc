// SPDX-License-Identifier: Apache-2.0
#include "core/container/unreadable.h"

namespace ctxfs {
namespace {

class Unreadable final : public Container {
 public:
  Unreadable(std::shared_ptr<const Source> source, Error reason)
      : Container(std::move(source)), reason_(std::move(reason)) {
    Warn({reason_.what, reason_.offset, Severity::kDamage});
  }

  const Error& reason() const { return reason_; }

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update(
        {{"format", nullptr}, {"entries", 0}, {"error", reason_.Text()}});
  }
  Tables Files() const override { return {}; }

 private:
  const Error reason_;
};

}  // namespace

std::shared_ptr<const Container> UnreadableContainer(
    std::shared_ptr<const Source> source, Error reason) {
  if (source == nullptr) source = std::make_shared<MemorySource>("");
  return std::make_shared<const Unreadable>(std::move(source),
                                            std::move(reason));
}

std::optional<Error> WhyUnreadable(const Container& container) {
  const auto* const unreadable = dynamic_cast<const Unreadable*>(&container);
  if (unreadable == nullptr) return std::nullopt;
  return unreadable->reason();
}

}  // namespace ctxfs
