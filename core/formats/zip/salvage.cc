// SPDX-License-Identifier: Apache-2.0
//
// Members of an archive whose directory cannot be read: local headers from the
// start of the file, each directly after the data of the one before it
// (docs/zip.md, section 10).
#include <string>
#include <utility>

#include "core/formats/zip/collector.h"
#include "core/formats/zip/directory.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kSizesFollow = 0x0008;
constexpr uint32_t kSalvagedPerCheck = 256;

struct Local {
  Member member;
  Buffer text;  // name and extra field
  size_t name_length = 0;
  uint64_t end = 0;  // of its data
};

/// Reads the member whose local header is at byte `at`; nullopt if there is
/// none, or if the end of its data is unknown.
Result<std::optional<Local>> ReadLocal(const Source& source, uint64_t at) {
  if (!InBounds(at, kLocalSize, source.size())) return std::optional<Local>();
  const Result<Buffer> fixed =
      ReadBuffer(source, at, kLocalSize, "local header");
  if (!fixed) return fixed.error();
  ByteReader in(fixed->span(), at);
  if (in.U32() != kLocalSignature) return std::optional<Local>();
  in.Skip(2);
  Local local;
  Member& member = local.member;
  member = ReadCommonFields(in);
  member.header = at;
  local.name_length = in.U16();
  const uint64_t text = local.name_length + in.U16();
  if ((member.flags & kSizesFollow) != 0 && member.stored_size == 0) {
    return std::optional<Local>();
  }
  if (!InBounds(at + kLocalSize, text, source.size())) {
    return std::optional<Local>();
  }
  Result<Buffer> bytes =
      ReadBuffer(source, at + kLocalSize, text, "local header");
  if (!bytes) return std::move(bytes).error();
  local.text = std::move(*bytes);
  uint64_t no_offset = 0;  // local headers have none
  ReadZip64(Bytes(local.text.span()).subspan(local.name_length), member,
            no_offset);
  const uint64_t data = at + kLocalSize + text;
  if (!InBounds(data, member.stored_size, source.size())) {
    return std::optional<Local>();
  }
  local.end = data + member.stored_size;
  return std::optional<Local>(std::move(local));
}

}  // namespace

Result<Directory> SalvageDirectory(const Source& source,
                                   const ReadContext& context) {
  Directory directory;
  Collector collector(directory);
  uint64_t at = 0;
  while (directory.members.size() < kMostSalvaged) {
    if (directory.members.size() % kSalvagedPerCheck == 0) {
      if (Status wanted = context.Check(); !wanted) {
        return std::move(wanted).error();
      }
    }
    const Result<std::optional<Local>> local = ReadLocal(source, at);
    if (!local) return local.error();
    if (!*local) break;
    const Bytes text = (*local)->text.span();
    const size_t name_length = (*local)->name_length;
    Status added =
        collector.Add((*local)->member, AsText(text.first(name_length)),
                      text.subspan(name_length), /*mode=*/0, at);
    if (!added) return std::move(added).error();
    at = (*local)->end;
  }
  if (Status done = collector.Finish(at, context); !done) {
    return std::move(done).error();
  }
  return directory;
}

}  // namespace ctxfs::zip
