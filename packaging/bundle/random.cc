// SPDX-License-Identifier: Apache-2.0
//
// Expat, a part of the library, takes this of the C library of the machine that
// it was built on, 2.36, which Ubuntu 22.04 and RHEL 9 do not have.
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" void arc4random_buf(void* bytes, size_t size) noexcept {
  auto* const to = static_cast<char*>(bytes);
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::getrandom(to + done, size - done, 0);
    if (got < 0 && errno != EINTR) std::abort();
    if (got > 0) done += static_cast<size_t>(got);
  }
}
