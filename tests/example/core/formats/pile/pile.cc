// SPDX-License-Identifier: Apache-2.0
//
// PILE, a format of one file (the worked example of docs/adding-a-format.md).
// All numbers are little-endian.
//
//   0  "PILE"
//   4  u32 count of entries, then as many records:
//        u16 length of the name, the name, u64 offset and u64 size of the
//        bytes in the file, u32 CRC-32C of them
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/container.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/checksum_guard.h"

namespace ctxfs::pile {
namespace {

constexpr std::string_view kMagic = "PILE";
constexpr uint64_t kHeaderSize = 8;
constexpr uint64_t kLeastRecord = 22;  // one whose name is empty

class Pile final : public Container {
 public:
  Pile(std::shared_ptr<const Source> source, const OpenOptions& /*options*/)
      : Container(std::move(source)) {}

  Status Load(const ReadContext& /*context*/);

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update({{"format", "pile"}, {"entries", entries_.size()}});
  }
  Tables Files() const override;

 private:
  struct Entry {
    std::string name;
    uint64_t offset;
    uint64_t size;
    Checksum checksum;
    std::optional<Error> fault;
    std::shared_ptr<AtomicVerdict> verdict;  // whether the checksum matched
  };

  void AddEntry(ByteReader& in, uint64_t record);
  Result<Content> Open(uint32_t file) const;
  static EntryInfo Describe(const Entry& entry);

  const uint64_t owner_ = NewOwner();  // names our verdicts in the cache
  std::vector<Entry> entries_;
};

// The index is read once, when the container is opened. Every count and size in
// it is compared with the bytes of the file before it is used.
Status Pile::Load(const ReadContext& context) {
  const uint64_t size = source()->size();
  const Buffer header = CTXFS_TRY(
      ReadBuffer(*source(), 0, std::min(size, kHeaderSize), "header", context));
  ByteReader start(header.span());
  start.Skip(kMagic.size());
  const uint64_t count = start.U32();
  if (!start.ok() || count > (size - kHeaderSize) / kLeastRecord) {
    return Error{
        Code::kCorrupt,
        std::to_string(count) + " entries run past the end of the file",
        kMagic.size()};
  }
  const Buffer index = CTXFS_TRY(ReadBuffer(
      *source(), kHeaderSize, std::min(size - kHeaderSize, limits::kNameBytes),
      "index", context));
  ByteReader in(index.span(), kHeaderSize);
  entries_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t record = in.offset();
    AddEntry(in, record);
    if (!in.ok()) {
      return Error{Code::kCorrupt,
                   "entry " + std::to_string(i) + " ends past the index",
                   record};
    }
  }
  return {};
}

// An entry that cannot be read takes none of the others with it.
void Pile::AddEntry(ByteReader& in, uint64_t record) {
  Entry entry;
  entry.name = std::string(AsText(in.Take(in.U16())));
  entry.offset = in.U64();
  entry.size = in.U64();
  entry.checksum = {ChecksumKind::kCrc32c, in.U32()};
  entry.verdict = std::make_shared<AtomicVerdict>(Verdict::kUnknown);
  if (!InBounds(entry.offset, entry.size, source()->size())) {
    entry.fault =
        Error{Code::kCorrupt, "it runs past the end of the file", record};
  }
  entries_.push_back(std::move(entry));
}

// No byte gets past the guard before the checksum of all has matched.
Result<Content> Pile::Open(uint32_t file) const {
  const Entry& entry = entries_[file];
  if (entry.fault) return *entry.fault;
  auto guard = std::make_shared<const ChecksumGuard>(
      Key{owner_, file},
      ChecksumGuard::Guarded{source(), entry.offset, entry.size,
                             entry.checksum},
      entry.verdict);
  return Content(Range{source(), entry.offset, std::move(guard)}, entry.size);
}

EntryInfo Pile::Describe(const Entry& entry) {
  EntryInfo info;
  info.name = entry.name;
  info.kind = "entry";
  info.size = entry.fault ? 0 : entry.size;
  info.stored_size = info.size;
  info.offset = entry.offset;
  info.checksum = entry.checksum.Text();
  if (entry.fault) info.note = entry.fault->Text();
  return info;
}

// The files at the root: each is the bytes of an entry, as they are stored.
Container::Tables Pile::Files() const {
  return {MakeTable(
      {.placement = {.role = Role::kEntries},
       .count = static_cast<uint32_t>(entries_.size()),
       .path = [this](uint32_t file, std::string& /*scratch*/)
           -> std::string_view { return entries_[file].name; },
       .open = [this](uint32_t file,
                      const ReadContext& /*context*/) { return Open(file); },
       .facts =
           [this](uint32_t file) {
             const Entry& entry = entries_[file];
             return FileFacts{entry.fault ? 0 : entry.size, entry.fault};
           },
       .describe =
           [this](uint32_t file, const ReadContext& /*context*/) {
             return Describe(entries_[file]);
           },
       .owner = Share(*this)})};
}

bool Probe(Bytes head) { return AsText(head).starts_with(kMagic); }

}  // namespace
}  // namespace ctxfs::pile

namespace ctxfs {

extern const Format kPile{.name = "pile",
                          .contents = "files in a row",
                          .extensions = "pile",
                          .golden = "pile",
                          .docs = "pile",
                          .probe = &pile::Probe,
                          .open = &OpenAs<pile::Pile>};

}  // namespace ctxfs
