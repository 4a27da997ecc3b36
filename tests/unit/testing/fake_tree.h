// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/testing/fake_container.h"

namespace ctxfs {

using Names = std::vector<std::optional<std::string>>;

inline std::shared_ptr<FakeContainer> Fake(Names names) {
  return std::make_shared<FakeContainer>(std::move(names));
}

}  // namespace ctxfs
