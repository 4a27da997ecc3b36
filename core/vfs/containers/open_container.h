// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Receives the damage of a container.
using OnDamage = std::function<void(const Error&)>;

/// Opens `source`. If `options` watch ctime, all bytes that opening reads are
/// recorded: the container's source then has an opening_digest. With
/// `on_damage`, a damaged container opens as an unreadable one, and only a
/// transient Error (Error::Permanent is false) is returned.
Result<std::shared_ptr<const Container>> OpenRecorded(
    const std::shared_ptr<const Source>& source, const OpenOptions& options,
    const ReadContext& context, const OnDamage& on_damage = nullptr);

/// Opens the container file at `path` by OpenRecorded. The Error of a damaged
/// container also says how many entries could be opened with `-o salvage`.
/// `request` can interrupt the opening of a URL only.
Result<std::shared_ptr<const Container>> OpenContainerFile(
    const std::string& path, const OpenOptions& options,
    const Request& request = Request());

}  // namespace ctxfs
