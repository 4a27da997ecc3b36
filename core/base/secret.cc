// SPDX-License-Identifier: Apache-2.0
#include "core/base/secret.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace ctxfs {
namespace {

void WipeAndUnmap(std::byte* bytes, size_t size) {
  ::explicit_bzero(bytes, size);
  ::munmap(bytes, size);
}

}  // namespace

Buffer SecretBuffer(size_t size, bool locked) {
  if (size == 0) return {};
  // Maps separate pages, because madvise applies to whole pages.
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  (void)::madvise(pages, size, MADV_DONTDUMP);
  if (locked) (void)::mlock(pages, size);
  return Buffer(static_cast<std::byte*>(pages), size, &WipeAndUnmap);
}

MasterKey::MasterKey(Bytes bytes) : bytes_(SecretBuffer(kBytes, true)) {
  std::copy_n(bytes.begin(), kBytes, bytes_.data());
}

}  // namespace ctxfs
