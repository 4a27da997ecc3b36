// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/container/derived.h"
#include "core/views/made_once.h"

namespace ctxfs {

/// A file that has to be made to be measured: at the first look-up, and never
/// for a listing. One that cannot be made has size 0, and opening it fails.
class MeasuredFile final : public DerivedFiles {
 public:
  MeasuredFile(std::string path, MadeOnce<Content>::Make make)
      : path_(std::move(path)), content_(std::move(make)) {}

  uint32_t count() const override { return 1; }
  std::optional<std::string> Path(uint32_t /*file*/) const override {
    return path_;
  }
  bool SizeIsCheap(uint32_t /*file*/) const override { return false; }

  Result<uint64_t> Size(uint32_t /*file*/,
                        const ReadContext& context) const override {
    const Result<const Content*> made = content_.Get(context);
    if (made) return (*made)->size();
    if (!made.error().Permanent()) return made.error();
    return 0;
  }

  Result<Content> Open(uint32_t /*file*/,
                       const ReadContext& context) const override {
    const Result<const Content*> made = content_.Get(context);
    if (!made) return made.error();
    return **made;
  }

 private:
  std::string path_;
  MadeOnce<Content> content_;
};

}  // namespace ctxfs
