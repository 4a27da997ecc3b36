// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs::zip {

class Archive;

/// The shown symbolic links of an archive (docs/formats/zip.md, section 9).
/// Immutable.
class Links {
 public:
  /// Reads the link targets, which are contents of members. Hides links that
  /// may lead out of the archive or are over a limit, and links whose target
  /// cannot be read. Fails only on transient read errors.
  static Result<std::shared_ptr<const Links>> Read(const Archive& archive,
                                                   const ReadContext& context);

  uint64_t count() const { return targets_.size(); }
  /// Returns the target of a shown link; nullopt for any other member.
  std::optional<std::string_view> Target(uint32_t member) const {
    const auto found = targets_.find(member);
    if (found == targets_.end()) return std::nullopt;
    return found->second;
  }
  /// Warnings about links that are hidden or unreadable.
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  /// Reads the target of a link, or records that the link is hidden or damaged.
  /// Fails as Read does.
  Status ReadTarget(const Archive& archive, uint32_t member,
                    const ReadContext& context);
  Status Hide(const Archive& archive, const ReadContext& context);

  std::unordered_map<uint32_t, std::string> targets_;
  std::vector<uint32_t> damaged_;
  std::vector<uint32_t> hidden_;
  std::vector<Warning> warnings_;
};

}  // namespace ctxfs::zip
