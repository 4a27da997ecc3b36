// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's side: one program under many names, and which target it is lies
// in the name, fuzz_TARGET.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/fuzz/target.h"

namespace {
const ctxfs::fuzz::Target* g_target = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  std::string name = (*argv)[0];
  name = name.substr(name.rfind('/') + 1);
  if (name.starts_with("fuzz_"))
    g_target = ctxfs::fuzz::FindTarget(name.substr(5));
  if (g_target != nullptr) return 0;
  std::fprintf(stderr, "call it as fuzz_ and one of:");
  for (const auto& target : ctxfs::fuzz::AllTargets()) {
    std::fprintf(stderr, " %s", target.name.c_str());
  }
  std::fprintf(stderr, "\n");
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  g_target->run(std::as_bytes(std::span(data, size)));
  return 0;
}
