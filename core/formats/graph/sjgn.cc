// SPDX-License-Identifier: Apache-2.0
//
// Cowrie-GNN graphs (docs/sjgn.md), as files of their own and as entries of a
// GraphShard.
//
//   "SJGN", version, flags, number of sections, sections
//   section: kind, [encoding], name, u64 length, body
//   "SJGZ", u32 decoded size, a zstd frame of the above
//
// Numbers without a width are unsigned LEB128; texts have their length before
// them.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/codec/codec.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/container/made_file.h"
#include "core/content/bit_bytes.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/formats/graph/sjgn_cursor.h"
#include "core/formats/graph/sjgn_sections.h"
#include "core/formats/graph/sjgn_table.h"

namespace ctxfs {
namespace {

constexpr uint32_t kPlainMagic = 0x4E474A53;      // "SJGN"
constexpr uint32_t kPackedMagic = 0x5A474A53;     // "SJGZ"
constexpr uint8_t kMinor1 = 0x10;                 // the byte that 1.1 has at 5
constexpr uint64_t kMetaKey = uint64_t{1} << 63;  // keys of meta sections

enum Kind : uint64_t { kMeta, kNodes, kEdges, kFeature, kSplit, kAux };

const char* KindName(uint64_t kind) {
  constexpr const char* kNames[] = {"meta",    "node_table", "edge_table",
                                    "feature", "split",      "aux"};
  return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

/// What version 1.0 has instead of a section's encoding: 0 JSON, 2 as it is, 3
/// a stream of events.
uint8_t ImpliedEncoding(uint64_t kind) {
  constexpr uint8_t kEncodings[] = {0, 3, 3, 2, 0, 0};
  return kind < std::size(kEncodings) ? kEncodings[kind] : uint8_t{0};
}

struct Section {
  uint64_t kind = 0;
  uint8_t encoding = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;
};

class Graph final : public Container {
 public:
  /// `data` is where the SJGN bytes are: `file` itself, or its decoded bytes.
  Graph(std::shared_ptr<const Source> file, std::shared_ptr<const Source> data)
      : Container(std::move(file)), data_(std::move(data)) {}

  Status Load(const ReadContext& /*context*/) {
    SjgnCursor in(*data_, 4, data_->size());
    const uint8_t major = in.U8();
    flags_ = in.U8();
    minor_ = flags_ == kMinor1 ? 1 : 0;
    if (in.ok() && flags_ > kMinor1) {  // flags are four bits
      return Error{Code::kVersion, "SJGN of a later version than 1.1", 5};
    }
    if (minor_ == 1) flags_ = in.U8();
    if (in.ok() && major != 1) {
      return Error{Code::kVersion,
                   "SJGN version " + std::to_string(major) +
                       " is not supported, only 1 is",
                   4};
    }
    const uint64_t count = in.Uvarint();
    if (count > limits::kGraphSections) {
      return Error{Code::kLimit, "too many sections", in.at()};
    }
    for (uint64_t i = 0; in.ok() && i < count; ++i) {
      Section section;
      section.kind = in.Uvarint();
      // Writers leave it 0: told, and not gone by.
      section.encoding = minor_ == 1 ? in.U8() : ImpliedEncoding(section.kind);
      section.name = in.Text();
      section.length = in.U64();
      section.offset = in.Skip(section.length);
      if (in.ok()) sections_.push_back(std::move(section));
    }
    if (!in.ok()) return in.error();
    for (const Section& section : sections_) ReadBody(section);
    reads_ = std::vector<std::atomic<bool>>(tables_.size());
    return {};
  }

  Json Info(const ReadContext& context) const override {
    Json info = {{"format", "sjgn"},
                 {"version", "1." + std::to_string(minor_)},
                 {"flags", flags_},
                 {"entries", entry_count()},
                 {"container_size", source()->size()},
                 {"warnings", Json::array()}};
    for (const Warning& warning : warnings_) {
      info["warnings"].push_back(warning.Text());
    }
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (reads_[i].load(std::memory_order_acquire)) continue;
      const Result<Buffer> ids = IdsBlock(i)->Produce(context);
      if (ids) {
        reads_[i].store(true, std::memory_order_release);
        continue;
      }
      info["warnings"].push_back(Warning{
          Quote(tables_[i].name) + " gives no arrays: " + ids.error().what,
          ids.error().offset}
                                     .Text());
    }
    return info;
  }
  uint32_t entry_count() const override {
    return static_cast<uint32_t>(sections_.size());
  }
  std::string_view EntryDirectory() const override { return "sections"; }
  std::optional<std::string_view> EntryName(uint32_t entry) const override {
    return sections_[entry].name;
  }
  uint64_t EntrySize(uint32_t entry) const override {
    return sections_[entry].length;
  }
  EntryInfo Describe(uint32_t entry) const override {
    const Section& section = sections_[entry];
    EntryInfo info;
    info.name = section.name;
    info.kind = KindName(section.kind);
    info.extra["encoding"] = section.encoding;
    info.size = section.length;
    info.stored_size = section.length;
    info.offset = section.offset;
    info.verified = "none";
    return info;
  }
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& /*context*/) const override {
    return Piece(sections_[entry].offset, sections_[entry].length);
  }

  std::vector<OwnFile> OwnFiles() const override {
    std::vector<OwnFile> files;
    for (const SjgnArray& array : arrays_) {
      OwnFile file;
      file.path = "arrays/" + array.name;
      file.open = [self = Self(), &array](const ReadContext& /*context*/) {
        return Result<Content>(self->Elements(array));
      };
      file.size = array.size;
      file.describe = [&array] {
        EntryInfo info;
        info.kind = "array";
        info.size = array.size;
        info.stored_size = array.bits ? (array.size + 7) / 8 : array.size;
        info.offset = array.offset;
        info.verified = "none";
        info.dtype = DTypeName(array.dtype);
        info.shape = array.shape;
        return info;
      };
      files.push_back(std::move(file));
    }
    for (size_t i = 0; i < tables_.size(); ++i) {
      AddTable(i, files);
    }
    for (const Section& section : sections_) {
      if (section.kind == kMeta) files.push_back(MetaFile(section));
    }
    return files;
  }

  std::optional<ArraysUse> ArraysUsed() const override {
    if (arrays_.empty() && tables_.empty()) return std::nullopt;
    return ArraysUse{{}};
  }

  std::vector<ArrayInfo> Arrays(const ReadContext& context) const override {
    std::vector<ArrayInfo> all;
    for (const SjgnArray& array : arrays_) {
      all.push_back({array.name, array.dtype, array.shape,
                     [self = Self(), &array](const ReadContext& /*context*/) {
                       return Result<Content>(self->Elements(array));
                     }});
    }
    for (size_t i = 0; i < tables_.size(); ++i) {
      for (const SjgnArray& array : IdsOf(i)) {
        const Result<Content> ids = OpenIds(i, array, context);
        if (!ids) break;
        all.push_back({array.name, array.dtype, array.shape,
                       [self = Self(), i, array](const ReadContext& request) {
                         return self->OpenIds(i, array, request);
                       },
                       /*opening_reads=*/true});
      }
    }
    return all;
  }

 private:
  std::shared_ptr<const Graph> Self() const {
    return std::static_pointer_cast<const Graph>(shared_from_this());
  }

  Content Piece(uint64_t offset, uint64_t length) const {
    Content content;
    content.Append(Range{data_, offset, nullptr}, length);
    return content;
  }

  Content Elements(const SjgnArray& array) const {
    if (!array.bits) return Piece(array.offset, array.size);
    Content content;
    content.Append(
        Computed{std::make_shared<const BitBytes>(data_, array.offset), 0},
        array.size);
    return content;
  }

  std::shared_ptr<const Block> LinesBlock(size_t table) const {
    return DecodeSjgnTable({owner_, 2 * table}, data_, tables_[table],
                           SjgnWanted::kLines);
  }
  std::shared_ptr<const Block> IdsBlock(size_t table) const {
    return DecodeSjgnTable({owner_, 2 * table + 1}, data_, tables_[table],
                           SjgnWanted::kIds);
  }

  /// The arrays of a table's ids; `offset` is where they begin in its block.
  std::vector<SjgnArray> IdsOf(size_t table) const {
    const auto& [name, edges, offset, length, events] = tables_[table];
    const uint64_t size = events * sizeof(int64_t);
    SjgnArray first;
    first.name = name + (edges ? "/src" : "/id");
    first.shape = {events};
    first.size = size;
    if (!edges) return {first};
    SjgnArray second = first;
    second.name = name + "/dst";
    second.offset = size;
    return {first, second};
  }

  Result<Content> OpenIds(size_t table, const SjgnArray& array,
                          const ReadContext& context) const {
    auto block = IdsBlock(table);
    const Result<BlockCache::Pinned> ids = context.Get(*block);
    if (!ids) return ids.error();
    // The lengths alone have told how many there are.
    if ((*ids)->size() != IdsOf(table).size() * array.size) {
      return Error{Code::kCorrupt, "another number of events than of lengths",
                   tables_[table].offset};
    }
    Content content;
    content.Append(Decoded{std::move(block), array.offset}, array.size);
    return content;
  }

  void AddTable(size_t table, std::vector<OwnFile>& files) const {
    OwnFile lines;
    lines.path = "tables/" + tables_[table].name + ".jsonl";
    lines.open = [block = LinesBlock(table)](
                     const ReadContext& context) -> Result<Content> {
      const Result<BlockCache::Pinned> text = context.Get(*block);
      if (!text) return text.error();
      Content content;
      content.Append(Decoded{block, 0}, (*text)->size());
      return content;
    };
    lines.exists = [open = lines.open](const ReadContext& context) {
      return Exists(open(context));
    };
    files.push_back(std::move(lines));
    for (const SjgnArray& array : IdsOf(table)) {
      OwnFile file;
      file.path = "arrays/" + array.name;
      file.size = array.size;
      file.open = [self = Self(), table, array](const ReadContext& context) {
        return self->OpenIds(table, array, context);
      };
      file.exists = [open = file.open](const ReadContext& context) {
        return Exists(open(context));
      };
      file.describe = [self = Self(), table, array] {
        EntryInfo info;
        info.kind = "array";
        info.codec = "cowrie";
        info.size = array.size;
        info.stored_size = self->tables_[table].length;
        info.offset = self->tables_[table].offset;
        info.verified = "none";
        info.dtype = DTypeName(array.dtype);
        info.shape = array.shape;
        return info;
      };
      files.push_back(std::move(file));
    }
  }

  /// Whether there is a file that opens like this; the store's failures pass.
  static Result<bool> Exists(const Result<Content>& opened) {
    if (opened) return true;
    if (opened.error().Permanent()) return false;
    return opened.error();
  }

  /// The meta section as JSON: what its first bytes say it is, since writers
  /// leave the encoding 0.
  OwnFile MetaFile(const Section& section) const {
    std::byte head[2] = {};
    const bool packed =
        section.length > sizeof(head) && section.length <= limits::kJsonBytes &&
        data_->ReadAt(section.offset, head) && LooksLikeCowrie(head);
    if (packed) {
      return MadeFile("meta.json", {owner_, kMetaKey + section.offset}, data_,
                      [data = data_, section]() -> Result<std::string> {
                        const Result<Buffer> bytes = ReadBuffer(
                            *data, section.offset, section.length, "meta");
                        if (!bytes) return bytes.error();
                        const Result<Json> meta = DecodeCowrie(bytes->span());
                        if (!meta) return meta.error();
                        return FormatJson(*meta);
                      });
    }
    OwnFile file;
    file.path = "meta.json";
    file.open = [self = Self(), section](const ReadContext& /*context*/) {
      return Result<Content>(self->Piece(section.offset, section.length));
    };
    file.size = section.length;
    return file;
  }

  /// Finds a section's arrays. One that does not read as its kind stays raw.
  void ReadBody(const Section& section) {
    SjgnCursor in(*data_, section.offset, section.offset + section.length);
    std::vector<SjgnArray> found;
    if (section.kind == kFeature) {
      found.push_back(ReadFeature(in, section.name));
    } else if (section.kind == kSplit) {
      found = ReadSplit(in, section.name);
    } else if (section.kind == kAux) {
      found = ReadAdjacency(in, section.name);
    } else if (section.kind == kNodes || section.kind == kEdges) {
      if (section.length > limits::kGraphBytes) {
        in.Fail("a table of more than 256 MiB");
      } else {
        const uint64_t events = CountSjgnEvents(in);
        if (in.ok()) {
          tables_.push_back({section.name, section.kind == kEdges,
                             section.offset, section.length, events});
        }
      }
    } else {
      return;
    }
    if (in.ok()) {
      for (SjgnArray& array : found) arrays_.push_back(std::move(array));
    } else {
      warnings_.push_back(
          {Quote(section.name) + ": " + in.error().what, in.error().offset});
    }
  }

  std::shared_ptr<const Source> data_;
  uint8_t minor_ = 0;
  uint8_t flags_ = 0;
  std::vector<Section> sections_;
  std::vector<SjgnArray> arrays_;
  std::vector<SjgnSection> tables_;
  std::vector<Warning> warnings_;
  // Tables that are known to read as lists; the others are looked at when
  // someone asks for warnings.
  mutable std::vector<std::atomic<bool>> reads_;
  const uint64_t owner_ = NewOwner();
};

bool Probe(Bytes head) {
  if (head.size() < 4) return false;
  const auto magic = LoadLe<uint32_t>(head.data());
  return magic == kPlainMagic || magic == kPackedMagic;
}

/// The SJGN bytes in an SJGZ file, decoded into memory.
Result<std::shared_ptr<const Source>> Unpack(
    std::shared_ptr<const Source> packed, const ReadContext& context) {
  constexpr uint64_t kFrameAt = 8;
  Result<Buffer> all = ReadBuffer(*packed, 0, packed->size(), "packed graph");
  if (!all) return std::move(all).error();
  if (all->size() < kFrameAt) {
    return Error{Code::kCorrupt, "ends within the header", all->size()};
  }
  const auto size = LoadLe<uint32_t>(all->data() + 4);
  if (size > limits::kGraphBytes) {
    return Error{Code::kLimit, "decodes to more than 256 MiB", 4};
  }
  Buffer plain(size);  // not cleared: a claim costs nothing
  Status decoded = DecodeZstd(all->span().subspan(kFrameAt), plain.span(),
                              context.interrupt());
  if (!decoded) {
    return Error{decoded.error().code, decoded.error().what, kFrameAt};
  }
  if (!AsText(plain.span()).starts_with("SJGN")) {
    return Error{Code::kCorrupt, "holds no SJGN", kFrameAt};
  }
  return std::shared_ptr<const Source>(std::make_shared<const UnpackedSource>(
      std::move(packed), std::move(plain)));
}

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& /*options*/,
    const ReadContext& context) {
  Result<Buffer> magic = ReadBuffer(*source, 0, 4, "magic");
  if (!magic) return std::move(magic).error();
  std::shared_ptr<const Source> data = source;
  if (LoadLe<uint32_t>(magic->data()) == kPackedMagic) {
    if (source->size() > limits::kGraphBytes) {
      return Error{Code::kLimit, "is larger than 256 MiB", 0};
    }
    Result<std::shared_ptr<const Source>> plain = Unpack(source, context);
    if (!plain) return std::move(plain).error();
    data = std::move(*plain);
  }
  auto graph = std::make_shared<Graph>(std::move(source), std::move(data));
  if (Status loaded = graph->Load(context); !loaded)
    return std::move(loaded).error();
  return std::shared_ptr<const Container>(std::move(graph));
}

}  // namespace

extern const Format kSjgn;
const Format kSjgn{"sjgn", &Probe, &Open};

}  // namespace ctxfs
