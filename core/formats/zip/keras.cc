// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/keras.h"

#include <string_view>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/container/facts/config_facts.h"
#include "core/formats/zip/member_text.h"

namespace ctxfs::zip {
std::optional<KerasMembers> FindKerasMembers(const Archive& archive) {
  std::optional<uint32_t> config;
  std::optional<uint32_t> metadata;
  bool weights = false;
  for (uint32_t i = 0; i < archive.count(); ++i) {
    if (archive.member(i).kind != Kind::kFile) continue;
    const std::string_view name = archive.Name(i);
    if (name == "config.json") config = i;
    if (name == "metadata.json") metadata = i;
    weights |= name == "model.weights.h5";
  }
  if (!config || !metadata || !weights) return std::nullopt;
  return KerasMembers{*config, *metadata};
}

Status AddKerasFacts(const Archive& archive, const KerasMembers& members,
                     const ReadContext& context, Facts& facts) {
  constexpr uint64_t kMax = 4 * limits::kMiB;
  const Json config =
      CTXFS_TRY(MemberJson(archive, members.config, kMax, context));
  const Json metadata =
      CTXFS_TRY(MemberJson(archive, members.metadata, kMax, context));
  if (config.is_object()) {
    const auto inner = config.find("config");
    if (inner != config.end() && inner->is_object()) {
      AddNamed(*inner, {{"name", "name"}}, facts);
    }
    AddNamed(config, {{"architecture", "class_name"}}, facts);
  }
  if (metadata.is_object()) {
    AddNamed(metadata, {{"keras_version", "keras_version"}}, facts);
  }
  return {};
}

}  // namespace ctxfs::zip
