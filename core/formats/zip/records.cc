// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/records.h"

#include <optional>

#include "core/formats/zip/names.h"
#include "core/formats/zip/times.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kZip64Field = 0x0001;
constexpr uint32_t kAllOnes = 0xFFFFFFFF;

}  // namespace

Member ReadCommonFields(ByteReader& in) {
  Member member;
  member.flags = in.U16();
  member.method = in.U16();
  const uint16_t time = in.U16();
  TakeDosTime(time, in.U16(), member);
  member.crc = in.U32();
  member.stored_size = in.U32();
  member.size = in.U32();
  return member;
}

void ReadZip64(Bytes extra, Member& member, uint64_t& offset) {
  const bool size = member.size == kAllOnes;
  const bool stored = member.stored_size == kAllOnes;
  const bool header = offset == kAllOnes;
  if (!size && !stored && !header) return;
  const std::optional<Bytes> field = FindExtraField(extra, kZip64Field);
  if (!field) return;  // a real 2^32 - 1: without zip64, nothing is missing
  ByteReader in(*field);
  if (size) member.size = in.U64();
  if (stored) member.stored_size = in.U64();
  if (header) offset = in.U64();
  if (!in.ok()) member.fault = Fault::kZip64;
}

}  // namespace ctxfs::zip
