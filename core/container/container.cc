// SPDX-License-Identifier: Apache-2.0
#include "core/container/container.h"

#include <fmt/core.h>

#include "core/base/bytes.h"
#include "core/container/complete.h"
#include "core/container/file_set.h"

namespace ctxfs {

Json Container::Info(const ReadContext& context) const {
  Json info = {{"container_size", source_->size()},
               {"warnings", WarningTexts()}};
  if (const auto packed = source_->packed_file()) {
    info["packed"] = {{"compression", packed->compression},
                      {"size", packed->size},
                      {"verified", packed->verified}};
  }
  AddInfo(info, context);
  const std::string view = JoinedView(Export());
  const Status complete =
      view.empty() ? Status() : CheckComplete(*this, context);
  if (!complete) {
    info["incomplete"] =
        fmt::format("there is no views/{}: {}", view, complete.error().Text());
  }
  return info;
}

std::string Container::FormatName(const ReadContext& context) const {
  Json info = Json::object();
  AddInfo(info, context);
  return info.value("format", "unknown");
}

std::vector<Error> Container::Faults() const {
  std::vector<Error> faults;
  for (const Warning& warning : warnings_) {
    if (warning.severity != Severity::kDamage) continue;
    faults.push_back({Code::kCorrupt, warning.text, warning.offset});
  }
  return faults;
}

void Container::AddStoredSize(uint64_t bytes) {
  stored_size_ = CheckedAdd(stored_size_, bytes).value_or(UINT64_MAX);
}

void Container::WarnAll(const std::vector<Warning>& warnings) {
  warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
}

Json Container::WarningTexts() const {
  Json texts = Json::array();
  for (const Warning& warning : warnings_) texts.push_back(warning.Text());
  return texts;
}

std::shared_ptr<const FileTable> Container::Entries() const {
  const Tables files = Files();
  if (!files.empty() && HoldsEntries(files.front()->placement().role)) {
    return files.front();
  }
  return EmptyTable();
}

}  // namespace ctxfs
