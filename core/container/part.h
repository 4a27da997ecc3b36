// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "core/container/container.h"

namespace ctxfs {

/// A directory of another container, such as a sample of a record file. It has
/// only files. The other container describes them.
class Part final : public Container {
 public:
  Part(SourcePtr source, std::shared_ptr<const FileTable> files)
      : Container(std::move(source), /*part=*/true), files_(std::move(files)) {}

  Tables Files() const override { return {files_}; }

 private:
  void AddInfo(Json& /*info*/, const ReadContext& /*context*/) const override {}

  const std::shared_ptr<const FileTable> files_;
};

}  // namespace ctxfs
