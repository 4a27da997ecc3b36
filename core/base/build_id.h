// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs {

/// The build ID of the program or shared library that has the code at
/// `address`, in hex digits; empty if it has none. Two builds of a library have
/// different ones.
std::string BuildIdOf(uintptr_t address);

}  // namespace ctxfs
