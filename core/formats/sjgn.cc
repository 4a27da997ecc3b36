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
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/codec/codec.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/formats/sjgn_cursor.h"

namespace ctxfs {
namespace {

constexpr uint32_t kPlainMagic = 0x4E474A53;   // "SJGN"
constexpr uint32_t kPackedMagic = 0x5A474A53;  // "SJGZ"
constexpr uint8_t kMinor1 = 0x10;              // the byte that 1.1 has at 5
constexpr uint64_t kWordBytes = 8;

enum Kind : uint64_t { kMeta, kNodes, kEdges, kFeature, kSplit, kAux };

const char* KindName(uint64_t kind) {
  constexpr const char* kNames[] = {"meta",    "node_table", "edge_table",
                                    "feature", "split",      "aux"};
  return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

/// The features' own dtype table.
std::optional<DType> FeatureType(uint8_t code) {
  constexpr DType kTypes[] = {DType::kF32,  DType::kF64, DType::kI32,
                              DType::kI64,  DType::kU32, DType::kU64,
                              DType::kBool, DType::kF16};
  if (code >= std::size(kTypes)) return std::nullopt;
  return kTypes[code];
}

/// A bitmap, a byte for each bit.
class Bits final : public Transform {
 public:
  Bits(std::shared_ptr<const Source> source, uint64_t at)
      : source_(std::move(source)), at_(at) {}
  Status Compute(uint64_t offset, MutableBytes out,
                 BlockCache& /*cache*/) const override {
    const uint64_t first = offset / 8;
    Buffer bits(static_cast<size_t>((offset + out.size() + 7) / 8 - first));
    Status read = source_->ReadAt(at_ + first, bits.span());
    if (!read) return read;
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t bit = offset + i - first * 8;
      out[i] = bits.span()[static_cast<size_t>(bit / 8)] >>
                   static_cast<unsigned>(bit % 8) &
               std::byte{1};
    }
    return {};
  }

 private:
  std::shared_ptr<const Source> source_;
  uint64_t at_;
};

struct Section {
  uint64_t kind = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// An array within a section: `bits` ones are a byte an element in its file.
struct Array {
  std::string name;
  DType dtype = DType::kI64;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;
  uint64_t size = 0;  // of the file
  bool bits = false;
};

class Graph final : public Container {
 public:
  /// `data` is where the SJGN bytes are: `file` itself, or its decoded bytes.
  Graph(std::shared_ptr<const Source> file, std::shared_ptr<const Source> data)
      : Container(std::move(file)), data_(std::move(data)) {}

  Status Load() {
    SjgnCursor in(*data_, 4, data_->size());
    const uint8_t major = in.U8();
    flags_ = in.U8();
    minor_ = flags_ == kMinor1 ? 1 : 0;
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
      if (minor_ == 1) in.U8();  // the encoding, which writers leave 0
      section.name = in.Text();
      section.length = in.U64();
      section.offset = in.Skip(section.length);
      if (in.ok()) sections_.push_back(std::move(section));
    }
    if (!in.ok()) return in.error();
    for (const Section& section : sections_) ReadBody(section);
    return {};
  }

  Json Info() const override {
    Json info = {{"format", "sjgn"},
                 {"version", "1." + std::to_string(minor_)},
                 {"flags", flags_},
                 {"entries", entry_count()},
                 {"container_size", source()->size()},
                 {"warnings", Json::array()}};
    for (const Warning& warning : warnings_) {
      info["warnings"].push_back(warning.Text());
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
    info.size = section.length;
    info.stored_size = section.length;
    info.offset = section.offset;
    info.verified = "none";
    return info;
  }
  Result<Content> OpenEntry(uint32_t entry) const override {
    return Piece(sections_[entry].offset, sections_[entry].length);
  }

  std::vector<OwnFile> OwnFiles() const override {
    std::vector<OwnFile> files;
    for (const Array& array : arrays_) {
      OwnFile file;
      file.path = "arrays/" + array.name;
      file.open = [self = Self(), &array](BlockCache& /*cache*/) {
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
    for (const Section& section : sections_) {
      // In 1.1 it is a cowrie value: raw, under sections/.
      if (section.kind != kMeta || minor_ != 0) continue;
      OwnFile file;
      file.path = "meta.json";
      file.open = [self = Self(), &section](BlockCache& /*cache*/) {
        return Result<Content>(self->Piece(section.offset, section.length));
      };
      file.size = section.length;
      files.push_back(std::move(file));
    }
    return files;
  }

  std::optional<ArraysUse> ArraysUsed() const override {
    if (arrays_.empty()) return std::nullopt;
    return ArraysUse{{}};
  }

  std::vector<ArrayInfo> Arrays() const override {
    std::vector<ArrayInfo> all;
    for (const Array& array : arrays_) {
      all.push_back({array.name, array.dtype, array.shape,
                     [self = Self(), &array](BlockCache& /*cache*/) {
                       return Result<Content>(self->Elements(array));
                     }});
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

  Content Elements(const Array& array) const {
    if (!array.bits) return Piece(array.offset, array.size);
    Content content;
    content.Append(
        Computed{std::make_shared<const Bits>(data_, array.offset), 0},
        array.size);
    return content;
  }

  /// Finds a section's arrays. One that does not read as its kind stays raw.
  void ReadBody(const Section& section) {
    SjgnCursor in(*data_, section.offset, section.offset + section.length);
    std::vector<Array> found;
    if (section.kind == kFeature) {
      found.push_back(Feature(in, section));
    } else if (section.kind == kSplit) {
      found = Split(in, section);
    } else if (section.kind == kAux) {
      found = Adjacency(in, section);
    } else {
      return;
    }
    if (in.ok()) {
      for (Array& array : found) arrays_.push_back(std::move(array));
    } else {
      warnings_.push_back(
          {Quote(section.name) + ": " + in.error().what, in.error().offset});
    }
  }

  static Array Feature(SjgnCursor& in, const Section& section) {
    Array array;
    array.name = section.name;
    if (in.U8() != 1) in.Fail("a feature that is not blocked");
    in.Text();
    const std::optional<DType> dtype = FeatureType(in.U8());
    if (!dtype) in.Fail("unknown dtype");
    const uint64_t rank = in.Uvarint();
    if (rank > limits::kKiB) in.Fail("too many dimensions");
    array.shape.push_back(0);
    for (uint64_t i = 0; in.ok() && i < rank; ++i) {
      array.shape.push_back(in.Uvarint());
    }
    array.shape[0] = in.Uvarint();
    if (!in.ok()) return array;
    array.dtype = *dtype;
    std::optional<uint64_t> bytes = DTypeSize(*dtype);
    for (const uint64_t dimension : array.shape) {
      if (bytes) bytes = CheckedMul(*bytes, dimension);
    }
    array.size = in.remaining();
    if (bytes != array.size) in.Fail("the shape does not fit the bytes");
    array.offset = in.Skip(array.size);
    return array;
  }

  static std::vector<Array> Split(SjgnCursor& in, const Section& section) {
    const uint8_t mode = in.U8();
    if (mode > 1) in.Fail("unknown split");
    const uint64_t nodes = mode == 1 ? in.Uvarint() : 0;
    std::vector<Array> arrays;
    for (const char* part : {"train", "val", "test"}) {
      const uint64_t count = in.Uvarint();
      Array array;
      array.name = section.name + "/" + part;
      array.bits = mode == 1;
      if (mode == 1) {
        if (count < nodes / 8 + (nodes % 8 != 0 ? 1 : 0)) {
          in.Fail("a bitmap that is too short");
        }
        array.dtype = DType::kBool;
        array.shape = {nodes};
        array.size = nodes;
        array.offset = in.Skip(count);
      } else {
        if (count > in.remaining() / kWordBytes) in.Fail("ends too early");
        array.shape = {count};
        array.size = in.ok() ? count * kWordBytes : 0;
        array.offset = in.Skip(array.size);
      }
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  static std::vector<Array> Adjacency(SjgnCursor& in, const Section& section) {
    if (in.U8() > 1) in.Fail("neither CSR nor CSC");
    in.Uvarint();  // nodes and edges: the arrays' own lengths are what counts
    in.Uvarint();
    std::vector<Array> arrays;
    for (const char* part : {"indptr", "indices"}) {
      Array array;
      array.name = section.name + "/" + part;
      array.size = in.Uvarint();
      if (array.size % kWordBytes != 0) in.Fail("no whole 64-bit numbers");
      array.shape = {array.size / kWordBytes};
      array.offset = in.Skip(array.size);
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  std::shared_ptr<const Source> data_;
  uint8_t minor_ = 0;
  uint8_t flags_ = 0;
  std::vector<Section> sections_;
  std::vector<Array> arrays_;
  std::vector<Warning> warnings_;
};

bool Probe(Bytes head) {
  if (head.size() < 4) return false;
  const auto magic = LoadLe<uint32_t>(head.data());
  return magic == kPlainMagic || magic == kPackedMagic;
}

/// The SJGN bytes in an SJGZ file, decoded into memory.
Result<std::shared_ptr<const Source>> Unpack(
    std::shared_ptr<const Source> packed) {
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
  Status decoded = DecodeZstd(all->span().subspan(kFrameAt), plain.span());
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
    std::shared_ptr<const Source> source, const OpenOptions& /*options*/) {
  Result<Buffer> magic = ReadBuffer(*source, 0, 4, "magic");
  if (!magic) return std::move(magic).error();
  std::shared_ptr<const Source> data = source;
  if (LoadLe<uint32_t>(magic->data()) == kPackedMagic) {
    if (source->size() > limits::kGraphBytes) {
      return Error{Code::kLimit, "is larger than 256 MiB", 0};
    }
    Result<std::shared_ptr<const Source>> plain = Unpack(source);
    if (!plain) return std::move(plain).error();
    data = std::move(*plain);
  }
  auto graph = std::make_shared<Graph>(std::move(source), std::move(data));
  if (Status loaded = graph->Load(); !loaded) return std::move(loaded).error();
  return std::shared_ptr<const Container>(std::move(graph));
}

}  // namespace

extern const Format kSjgn;
const Format kSjgn{"sjgn", &Probe, &Open};

}  // namespace ctxfs
