// SPDX-License-Identifier: Apache-2.0
#include "core/base/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/text.h"

namespace ctxfs {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

bool Holds(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD &&
        address - (object.dlpi_addr + part.p_vaddr) < part.p_memsz) {
      return true;
    }
  }
  return false;
}

/// The build ID among `notes`, whose parts are padded to 4 bytes.
std::string BuildIdIn(Bytes notes) {
  constexpr uint64_t kAlign = 4;
  const auto padded = [](uint64_t size) {
    return (size + kAlign - 1) / kAlign * kAlign;
  };
  ByteReader in(notes);
  while (in.remaining() > 0) {
    const uint32_t name_size = in.U32();
    const uint32_t size = in.U32();
    const uint32_t type = in.U32();
    const std::string_view name = AsText(in.Take(padded(name_size)));
    const Bytes id = in.Take(padded(size));
    if (!in.ok()) break;
    if (type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4)) {
      return Hex(AsText(id.first(size)));
    }
  }
  return "";
}

int Visit(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!Holds(*object, search.address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    search.id = BuildIdIn(
        {reinterpret_cast<const std::byte*>(object->dlpi_addr + part.p_vaddr),
         part.p_memsz});
  }
  return 1;
}

}  // namespace

std::string BuildIdOf(uintptr_t address) {
  Search search{address, ""};
  ::dl_iterate_phdr(&Visit, &search);
  return search.id;
}

}  // namespace ctxfs
