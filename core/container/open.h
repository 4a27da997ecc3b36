// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"

namespace ctxfs {

/// Makes a T from `arguments` and parses its index with T::Load, whose errors
/// it returns.
template <typename T, typename... Arguments>
Result<std::shared_ptr<const Container>> LoadContainer(
    const ReadContext& context, Arguments&&... arguments) {
  auto container = std::make_shared<T>(std::forward<Arguments>(arguments)...);
  CTXFS_TRY(container->Load(context));
  return std::shared_ptr<const Container>(std::move(container));
}

/// Implements Format::open for a format whose containers have the class T.
template <typename T>
Result<std::shared_ptr<const Container>> OpenAs(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context = LoneContext()) {
  return LoadContainer<T>(context, std::move(source), options);
}

}  // namespace ctxfs
