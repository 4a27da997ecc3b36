// SPDX-License-Identifier: Apache-2.0
//
// Which symbolic links of an archive are shown (docs/tree.md, section 6).
#include "core/container/archive/link_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// A member of an archive: a link if it has a target, a directory if its path
/// ends with a slash.
struct Member {
  std::string path;
  std::string target = {};
};
using Archive = std::vector<Member>;
using Paths = std::vector<std::string>;

Paths HiddenOf(const Archive& archive, bool last_keeps_name = true) {
  LinkPlan plan(last_keeps_name);
  for (uint32_t i = 0; i < archive.size(); ++i) {
    const Member& one = archive[i];
    if (!one.target.empty()) plan.AddLink(i, one.path, one.target);
  }
  for (uint32_t i = 0; i < archive.size(); ++i) {
    if (!archive[i].target.empty()) continue;
    std::string_view path = archive[i].path;
    const bool directory = path.ends_with('/');
    if (directory) path.remove_suffix(1);
    plan.AddOther(i, path, directory);
  }
  const Result<std::vector<uint32_t>> hidden = plan.Hidden(LoneContext());
  Paths paths;
  for (const uint32_t entry : *hidden) {
    paths.push_back(archive[entry].path + " -> " + archive[entry].target);
  }
  return paths;
}

TEST(LinkPlan, Item28_11_LinksInsideAreShown) {
  EXPECT_EQ(HiddenOf({{"a"},
                      {"d/x"},
                      {"l", "a"},
                      {"d/l", "../a"},
                      {"d/up", ".."},
                      {"dot", "."},
                      {"gone", "nowhere/at/all"},
                      {"slash", "d//./x"},
                      {"end", "d/"}}),
            Paths());
}

TEST(LinkPlan, Item28_11_LinksThatLeaveAreNot) {
  EXPECT_EQ(HiddenOf({{"abs", "/etc/passwd"}}), Paths{"abs -> /etc/passwd"});
  EXPECT_EQ(HiddenOf({{"l", ".."}}), Paths{"l -> .."});
  EXPECT_EQ(HiddenOf({{"d/l", "../.."}}), Paths{"d/l -> ../.."});
  EXPECT_EQ(HiddenOf({{"d/x"}, {"l", "d/../../x"}}), Paths{"l -> d/../../x"});
  const std::string nul("a\0b", 3);
  EXPECT_EQ(HiddenOf({{"l", nul}}), Paths{"l -> " + nul});
  EXPECT_EQ(HiddenOf({{"l", std::string(kMaxLinkTarget, 'x')}}), Paths());
  EXPECT_EQ(HiddenOf({{"l", std::string(kMaxLinkTarget + 1, 'x')}}).size(), 1U);
}

TEST(LinkPlan, Item28_11_OtherLinksAreFollowed) {
  // `deep` leads two directories down, `top` two up.
  const Member deep{"deep", "a/b"};
  const Member file{"a/b/f"};
  EXPECT_EQ(HiddenOf({deep, file, {"l", "deep/../.."}}), Paths());
  EXPECT_EQ(HiddenOf({deep, file, {"l", "deep/../../.."}}),
            Paths{"l -> deep/../../.."});
  EXPECT_EQ(HiddenOf({file, {"a/b/top", "../.."}, {"l", "a/b/top/.."}}),
            Paths{"l -> a/b/top/.."});
  EXPECT_EQ(HiddenOf({{"l", "out/x"}, {"out", "/"}}),
            (Paths{"l -> out/x", "out -> /"}));
}

TEST(LinkPlan, Item28_11_LoopsAreShownAndEnd) {
  EXPECT_EQ(HiddenOf({{"self", "self"},
                      {"a", "b"},
                      {"b", "a"},
                      {"into", "a/../../.."},
                      {"d/x", "../d/x/y"}}),
            Paths());
}

TEST(LinkPlan, Item28_11_NothingGoesUpFromWhatIsNoMember) {
  // In views/inner.tar~dir/ there are links that the plan does not know.
  EXPECT_EQ(HiddenOf({{"inner.tar"}, {"l", "views/inner.tar~dir/l/../../.."}}),
            Paths{"l -> views/inner.tar~dir/l/../../.."});
  EXPECT_EQ(HiddenOf({{"views/f"}, {"l", "views/d/../f"}}), Paths());
  EXPECT_EQ(HiddenOf({{"views/k", "f"}, {"l", "views/d/../.."}}),
            Paths{"l -> views/d/../.."});
  EXPECT_EQ(HiddenOf({{"views/k", "d/../f"}}), Paths());
}

TEST(LinkPlan, Item28_11_ALinkHasItsPlaceAlone) {
  EXPECT_EQ(HiddenOf({{"l", "a"}, {"l"}}), Paths{"l -> a"});
  EXPECT_EQ(HiddenOf({{"l"}, {"l", "a"}}), Paths());
  EXPECT_EQ(HiddenOf({{"l"}, {"l", "a"}}, false), Paths{"l -> a"});
  EXPECT_EQ(HiddenOf({{"l", "a"}, {"l"}}, false), Paths());
  EXPECT_EQ(HiddenOf({{"l", "a"}, {"l", "b"}}), Paths{"l -> a"});
  EXPECT_EQ(HiddenOf({{"l", "a"}, {"l", "b"}}, false), Paths{"l -> b"});
  // Something below makes it a directory, from which ".." leads elsewhere.
  EXPECT_EQ(HiddenOf({{"x", "a/b/c"}, {"x/f"}, {"a/b/c/f"}, {"y", "x/../.."}}),
            (Paths{"x -> a/b/c", "y -> x/../.."}));
  EXPECT_EQ(HiddenOf({{"x", "a"}, {"x/l", "f"}}), Paths{"x -> a"});
  EXPECT_EQ(HiddenOf({{"x/"}, {"x", "a"}}), Paths{"x -> a"});
}

TEST(LinkPlan, Item41_6_OddNamesAreAtTheirPlainPaths) {
  // From a/l, "../.." leaves, as it does not from a//l taken by components.
  EXPECT_EQ(HiddenOf({{"a//l", "../../x"}}), Paths{"a//l -> ../../x"});
  EXPECT_EQ(HiddenOf({{"/l", "../x"}}), Paths{"/l -> ../x"});
  EXPECT_EQ(HiddenOf({{"./a/./l", ".././/x"}}), Paths());
  EXPECT_EQ(HiddenOf({{"a//x", "b"}, {"l", "a/x/../../.."}}),
            Paths{"l -> a/x/../../.."});
  // One without its plain path is not shown; a name that is the path wins.
  EXPECT_EQ(HiddenOf({{"a/l"}, {"a//l", "f"}}), Paths{"a//l -> f"});
  EXPECT_EQ(HiddenOf({{"a/l", "f"}, {"a//l"}}), Paths());
  EXPECT_EQ(HiddenOf({{"a/l", "f"}, {"a//l", "g"}}), Paths{"a//l -> g"});
  EXPECT_EQ(HiddenOf({{"a//l", "f"}, {"a/./l", "g"}}), Paths{"a//l -> f"});
  EXPECT_EQ(HiddenOf({{"a/l", "f"}, {"a//l/"}}), Paths());
  EXPECT_EQ(HiddenOf({{"a//l", "f"}, {"a/l//"}}), Paths{"a//l -> f"});
  EXPECT_EQ(HiddenOf({{"a/l", "f"}, {"a//l/x"}}), Paths{"a/l -> f"});
}

TEST(LinkPlan, Item28_11_ChainsAreFollowedOnce) {
  Archive archive;
  for (int i = 0; i < 20'000; ++i) {
    archive.push_back({"l" + std::to_string(i), "l" + std::to_string(i + 1)});
  }
  EXPECT_EQ(HiddenOf(archive), Paths());
  archive.push_back({"l20000", "/"});
  EXPECT_EQ(HiddenOf(archive).size(), 20'001U);
}

TEST(LinkPlan, Item28_11_WhatItKeepsIsBounded) {
  Archive archive;
  for (int i = 0; i < 5'000; ++i) {
    std::string path = std::to_string(i);
    for (int depth = 0; depth < 250; ++depth) path += "/a";
    archive.push_back({path, "x"});
  }
  // 1.25 million directories above them.
  const size_t hidden = HiddenOf(archive).size();
  EXPECT_GT(hidden, 900U);
  EXPECT_LT(hidden, 1200U);
  std::string deep = "a";
  for (size_t i = 1; i < limits::kComponents; ++i) deep += "/a";
  EXPECT_EQ(HiddenOf({{deep, "x"}}), Paths());
  EXPECT_EQ(HiddenOf({{deep + "/a", "x"}}).size(), 1U);
}

TEST(LinkPlan, StopsWhenTheRequesterGivesUp) {
  LinkPlan plan(true);
  plan.AddLink(0, "l", "a");
  BlockCache cache(0);
  const InterruptAfter interrupt(0);
  EXPECT_TRUE(Fails(plan.Hidden({cache, interrupt}), Code::kInterrupted));
}

}  // namespace
}  // namespace ctxfs
