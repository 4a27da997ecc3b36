// SPDX-License-Identifier: Apache-2.0
#include "core/base/causes.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/errors.h"

namespace ctxfs {
namespace {

TEST(Causes, Item43_5_ExplainErrorsThatOnlyNameAPart) {
  Causes causes;
  const Error missing{Code::kNotFound, "the file 'a: b' is missing"};
  EXPECT_FALSE(causes.Explain(Within("tensor 1 'w'", missing)));
  causes.Add(missing);
  EXPECT_TRUE(causes.Explain(Within("tensor 1 'w'", missing)));
  EXPECT_TRUE(causes.Explain(Within("a", Within("b: c", missing))));
  EXPECT_FALSE(causes.Explain(missing)) << "it is the cause itself";
  EXPECT_FALSE(causes.Explain(Within("a", {Code::kCorrupt, "b' is missing"})));
  EXPECT_FALSE(causes.Explain({Code::kCorrupt, ""}));
}

}  // namespace
}  // namespace ctxfs
