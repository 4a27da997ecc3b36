// SPDX-License-Identifier: Apache-2.0
//
// MEM8, the memory of a directory in one small file (docs/mem8.md). The
// payloads of the sections are the entries; JSON files are made from them when
// they are looked up.
#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/container/documents.h"
#include "core/container/listed_files.h"
#include "core/container/open.h"
#include "core/formats/mem8/archive.h"
#include "core/formats/mem8/fields.h"
#include "core/formats/mem8/image.h"
#include "core/formats/mem8/kind.h"
#include "core/formats/mem8/limits.h"
#include "core/formats/mem8/sections.h"

namespace ctxfs::mem8 {
namespace {

constexpr uint64_t kImageBlock = 0;
constexpr uint64_t kSummaryBlock = 1;
constexpr uint64_t kFirstViewBlock = 2;
constexpr uint64_t kFlagsAt = 6;

using SourcePtr = std::shared_ptr<const Source>;

/// The image as a block. The payloads of the sections are slices of it.
class ImageBlock final : public Block {
 public:
  ImageBlock(Key key, SourcePtr file, const Mem8Image& image)
      : Block(key),
        file_(std::move(file)),
        crc_(image.header.crc_found),
        verifies_(image.header.crc != Mem8Crc::kAbsent),
        cost_(image.bytes.size() + file_->size()) {}

  uint64_t cost() const override { return cost_; }
  bool verifies() const override { return verifies_; }
  const Source* made_from() const override { return file_.get(); }

  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    Result<Mem8Image> image = ReadMem8Image(*file_);
    if (!image) return std::move(image).error();
    if (image->header.crc_found != crc_) {
      return Error{Code::kStale, "the container changed under the mount"};
    }
    return std::move(image->bytes);
  }

 private:
  SourcePtr file_;
  uint32_t crc_;  // that the file had when it was opened
  bool verifies_;
  uint64_t cost_;
};

class Mem8Container final : public Container {
 public:
  /// `file` is the .mem8: the source itself, or the file unpacked from it.
  Mem8Container(SourcePtr source, SourcePtr file, const OpenOptions& options)
      : Container(std::move(source)),
        file_(std::move(file)),
        verify_(options.verify) {}

  /// Reads the file. Must be called once, before any other function.
  Status Load(const ReadContext& /*context*/);

  Json Info(const ReadContext& /*context*/) const override;
  Tables Files() const override;

  // .ctxfs/raw/sections/0x00TT.bin: the entries.

  std::string_view FilePath(const Mem8Section& section) const {
    return names_[section.type];
  }
  uint64_t FileSize(const Mem8Section& section) const { return section.size; }
  Result<Content> OpenFile(const Mem8Section& section,
                           const ReadContext& /*context*/) const {
    return Content(Decoded{image_, section.payload_at()}, section.size);
  }
  EntryInfo DescribeFile(const Mem8Section& section) const;
  std::optional<Error> FileFault(const Mem8Section& /*section*/) const {
    return Refused();
  }

 private:
  class Views;

  /// Makes the JSON of a file.
  using Make = Result<Json> (Mem8Container::*)(Bytes image,
                                               uint32_t section) const;
  Result<Json> MakeHeader(Bytes image, uint32_t section) const;
  Result<Json> MakeStrings(Bytes image, uint32_t section) const;
  Result<Json> MakeSummary(Bytes image, uint32_t section) const;
  Result<Json> MakeSection(Bytes image, uint32_t section) const;

  /// The error of all decoded files, if the CRC does not match or the file is
  /// encrypted.
  std::optional<Error> Refused() const;

  const SourcePtr file_;
  const bool verify_;
  const uint64_t owner_ = NewOwner();
  std::array<std::string, 256> names_;  // of sections, by type: "0x0001.bin"
  Mem8Header header_;
  Mem8Layout layout_;
  std::shared_ptr<const Block> image_;
};

Status Mem8Container::Load(const ReadContext& /*context*/) {
  Result<Mem8Image> image = ReadMem8Image(*file_);
  if (!image) return std::move(image).error();
  header_ = image->header;
  if (file_ != source()) {
    Warn({"the file is zstd-compressed as a whole", 0});
  }
  WarnAll(image->warnings);
  for (unsigned type = 0; type < names_.size(); ++type) {
    const char byte = static_cast<char>(type);
    names_[type] = "0x00" + Hex({&byte, 1}) + ".bin";
  }
  image_ = std::make_shared<const ImageBlock>(Key{owner_, kImageBlock}, file_,
                                              *image);
  if (header_.encrypted()) return {};
  Result<Mem8Layout> layout = FindMem8Sections(*image);
  if (!layout) return std::move(layout).error();
  layout_ = std::move(*layout);
  WarnAll(layout_.warnings);
  layout_.warnings.clear();
  return {};
}

std::optional<Error> Mem8Container::Refused() const {
  if (verify_ && header_.crc == Mem8Crc::kMismatch) {
    const Checksum stored{ChecksumKind::kCrc32, header_.crc_stored};
    const Checksum found{ChecksumKind::kCrc32, header_.crc_found};
    return Error{Code::kChecksum,
                 "crc mismatch: the header has " + stored.Text() +
                     ", the bytes have " + found.Text(),
                 8};
  }
  // The CRC covers the encrypted bytes, too, so damage is reported first.
  if (header_.encrypted()) {
    return Error{Code::kLocked,
                 "the file is encrypted by a method that is not documented",
                 kFlagsAt};
  }
  return std::nullopt;
}

Json Mem8Container::Info(const ReadContext& /*context*/) const {
  Json info = *MakeHeader({}, 0);
  info["format"] = "mem8";
  info["version"] = Mem8VersionText(header_.version);
  info["container_size"] = source()->size();
  info["entries"] = layout_.sections.size();
  info["strings"] = layout_.strings.size();
  return info;
}

Result<Json> Mem8Container::MakeHeader(Bytes /*image*/,
                                       uint32_t /*section*/) const {
  Json json = {{"version", header_.version},
               {"flags", header_.flags},
               {"flag_names", header_.FlagNames()},
               {"crc32_stored", header_.crc_stored},
               {"crc32_over_12_to_eof", header_.crc_found},
               {"index_offset", header_.index_offset},
               {"crc", std::string(Mem8CrcName(header_.crc))},
               {"byte_order", header_.big_endian ? "big" : "little"},
               {"warnings", WarningTexts()}};
  if (header_.encrypted()) {
    json["note"] = "encrypted: the bytes after the header cannot be read";
  } else {
    json["length_convention"] = std::string(Mem8LengthName(layout_.length));
  }
  return json;
}

Result<Json> Mem8Container::MakeStrings(Bytes image,
                                        uint32_t /*section*/) const {
  Json strings = Json::array();
  for (const Mem8Layout::String& one : layout_.strings) {
    strings.push_back(std::string(AsText(image.subspan(one.at, one.size))));
  }
  return strings;
}

Result<Json> Mem8Container::MakeSummary(Bytes image,
                                        uint32_t /*section*/) const {
  Json sections = Json::array();
  uint64_t text = 0;
  for (const Mem8Section& section : layout_.sections) {
    Result<Json> decoded = DecodeMem8Section(layout_, image, section, text);
    if (!decoded) return decoded;
    const std::string_view name = Mem8SectionName(section.type);
    sections.push_back({{"type", section.type},
                        {"offset", section.offset},
                        {"length_field", section.length_field},
                        {"payload_bytes", section.size},
                        {"name", name.empty() ? Json() : Json(name)},
                        {"decoded", std::move(*decoded)}});
  }
  return Json{{"sections", std::move(sections)}};
}

Result<Json> Mem8Container::MakeSection(Bytes image, uint32_t section) const {
  uint64_t text = 0;
  return DecodeMem8Section(layout_, image, layout_.sections[section], text);
}

EntryInfo Mem8Container::DescribeFile(const Mem8Section& section) const {
  EntryInfo info;
  info.name = names_[section.type];
  info.kind = "section";
  info.stored_size = section.size;
  info.offset = section.payload_at();
  info.verified = header_.crc == Mem8Crc::kAbsent || !verify_ ? "none"
                  : header_.crc == Mem8Crc::kMismatch         ? "failed"
                                                              : "yes";
  if (header_.crc != Mem8Crc::kAbsent) {
    // The checksum covers all bytes of the file from 12 on.
    info.checksum = Checksum{ChecksumKind::kCrc32, header_.crc_stored}.Text();
  }
  info.extra["type"] = section.type;
  const std::string_view name = Mem8SectionName(section.type);
  if (!name.empty()) info.extra["section"] = name;
  if (header_.compressed()) {
    info.codec = "zstd";
    info.note = "the offset is that in the decompressed file";
  }
  if (section.fault != Mem8Fault::kSound) {
    info.note = Mem8FaultText(section.fault);
  }
  if (const std::optional<Error> refused = Refused()) {
    info.note = refused->what;
  }
  return info;
}

/// header.json, strings.json, and NAME.json of each section that has a name; or
/// .ctxfs/summary.json alone.
class Mem8Container::Views final : public FileTable {
 public:
  Views(std::shared_ptr<const Mem8Container> container, Role role)
      : FileTable({.role = role}), container_(std::move(container)) {
    if (role == Role::kMetadata) {
      views_ = {{"summary.json", kSummaryBlock, &Mem8Container::MakeSummary}};
      return;
    }
    Add("header.json", &Mem8Container::MakeHeader);
    Add("strings.json", &Mem8Container::MakeStrings);
    const std::vector<Mem8Section>& sections = container_->layout_.sections;
    std::array<uint32_t, 256> seen{};
    for (uint32_t i = 0; i < sections.size(); ++i) {
      std::string name(Mem8SectionName(sections[i].type));
      if (name.empty()) continue;
      // Numbered here, because the tree would search for a free name for each
      // of thousands of equal names.
      const uint32_t number = ++seen[sections[i].type];
      if (number > 1) name += "~" + std::to_string(number);
      Add(name + ".json", &Mem8Container::MakeSection, i);
    }
  }

  uint32_t count() const override {
    return static_cast<uint32_t>(views_.size());
  }
  std::optional<std::string_view> Path(
      uint32_t view, std::string& /*scratch*/) const override {
    return views_[view].path;
  }
  Result<Content> Open(uint32_t number,
                       const ReadContext& context) const override {
    if (std::optional<Error> fault = Fault(number)) return *std::move(fault);
    const auto make = [container = container_, view = views_[number]](
                          const ReadContext& request) -> Result<std::string> {
      const Result<BlockCache::Pinned> image = request.Get(*container->image_);
      if (!image) return image.error();
      const Result<Json> json =
          ((*container).*view.make)((*image)->span(), view.section);
      if (!json) return json.error();
      return FormatJson(*json);
    };
    return CachedText({container_->owner_, views_[number].block},
                      container_->source(), make, context);
  }
  std::optional<uint64_t> KnownSize(uint32_t view) const override {
    return Fault(view) ? std::optional<uint64_t>(0) : std::nullopt;
  }
  // The header of an encrypted file is not encrypted.
  std::optional<Error> Fault(uint32_t view) const override {
    if (container_->header_.encrypted() &&
        views_[view].make == &Mem8Container::MakeHeader) {
      return std::nullopt;
    }
    return container_->Refused();
  }

 private:
  struct View {
    std::string path;
    uint64_t block;  // of its text, in the cache
    Make make;
    uint32_t section = 0;
  };

  void Add(std::string path, Make make, uint32_t section = 0) {
    views_.push_back(
        {std::move(path), kFirstViewBlock + views_.size(), make, section});
  }

  const std::shared_ptr<const Mem8Container> container_;
  std::vector<View> views_;
};

Container::Tables Mem8Container::Files() const {
  return {ListFiles({.role = Role::kRawEntries, .directory = "sections"},
                    Share(*this), Share(layout_.sections)),
          std::make_shared<const Views>(Share(*this), Role::kPrimary),
          std::make_shared<const Views>(Share(*this), Role::kMetadata)};
}

bool ProbeMem8(Bytes head) { return Mem8KindOfHead(head) == Mem8Kind::kMem8; }

bool Resembles(Bytes head) {
  return Mem8KindOfHead(head) != Mem8Kind::kUnknown;
}

/// Opens a file that is one zstd frame as a whole: decompresses it, and
/// examines the result.
Result<std::shared_ptr<const Container>> OpenPacked(
    SourcePtr source, const OpenOptions& options, const ReadContext& context) {
  Error refusal = NotMem8(Mem8Kind::kPacked);
  if (source->size() > kMostBytes) return refusal;
  Result<Buffer> stored = ReadBuffer(*source, 0, source->size(), "file");
  if (!stored) return std::move(stored).error();
  Result<ZstdFrame> frame =
      DecodeZstdFrame(stored->span(), kMostBytes, context.interrupt());
  if (!frame && !frame.error().Permanent()) return std::move(frame).error();
  if (!frame) {
    refusal.what += ": " + frame.error().what;
    return refusal;
  }
  const Mem8Kind kind = Mem8KindOfHead(frame->bytes.span().first(
      std::min(frame->bytes.size(), limits::kProbeBytes)));
  auto file =
      std::make_shared<const UnpackedSource>(source, std::move(frame->bytes));
  switch (kind) {
    case Mem8Kind::kArchive:
      return OpenMem8Archive(std::move(source), std::move(file), context);
    case Mem8Kind::kMem8:
      return LoadContainer<Mem8Container>(context, std::move(source),
                                          std::move(file), options);
    default:
      return refusal;
  }
}

Result<std::shared_ptr<const Container>> Open(SourcePtr source,
                                              const OpenOptions& options,
                                              const ReadContext& context) {
  constexpr uint64_t kMagicSize = 4;
  Result<Buffer> magic =
      ReadBuffer(*source, 0, std::min(source->size(), kMagicSize), "magic");
  if (!magic) return std::move(magic).error();
  if (LooksLikeZstd(magic->span())) {
    return OpenPacked(std::move(source), options, context);
  }
  return LoadContainer<Mem8Container>(context, source, source, options);
}

}  // namespace

}  // namespace ctxfs::mem8

namespace ctxfs {

extern const Format kMem8;
const Format kMem8{.name = "mem8",
                   .contents = "MEM8 memories",
                   .extensions = "mem8",
                   .probe = &mem8::ProbeMem8,
                   .open = &mem8::Open,
                   .resembles = &mem8::Resembles};

}  // namespace ctxfs
