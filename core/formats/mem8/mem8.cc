// SPDX-License-Identifier: Apache-2.0
//
// Implements MEM8, the memory of a directory in one small file
// (docs/formats/mem8.md). The entries are the sections' payloads; JSON files
// are rendered when they are looked up.
#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/container/documents.h"
#include "core/container/facts/config_facts.h"
#include "core/container/file_set.h"
#include "core/container/open.h"
#include "core/content/check_at.h"
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

/// The image as a block; sections' payloads are slices of it.
class ImageBlock final : public Block {
 public:
  ImageBlock(Key key, SourcePtr file, const Mem8Image& image)
      : Block(key),
        file_(std::move(file)),
        crc_(image.header.crc_found),
        verifies_(image.header.crc != Mem8Crc::kAbsent),
        // The cost of the file, of the image and, if it is compressed, of the
        // decoded bytes.
        cost_((image.header.compressed() ? 2 : 1) * image.bytes.size() +
              file_->size()) {}

  uint64_t cost() const override { return cost_; }
  bool verifies() const override { return verifies_; }
  const Source* made_from() const override { return file_.get(); }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Mem8Image image = CTXFS_TRY(ReadMem8Image(*file_, context));
    if (image.header.crc_found != crc_) {
      return Error{Code::kStale, "the container changed under the mount"};
    }
    return std::move(image.bytes);
  }

 private:
  SourcePtr file_;
  uint32_t crc_;  // of the file when it was opened
  bool verifies_;
  uint64_t cost_;
};

class Mem8Container final : public Container, public SaysFacts {
 public:
  /// `file` is the .mem8: `source` itself, or the bytes decompressed from it.
  Mem8Container(SourcePtr source, SourcePtr file, const OpenOptions& options)
      : Container(std::move(source)),
        file_(std::move(file)),
        verify_(options.verify) {}

  /// Reads the file. Must be called once, before any other function.
  Status Load(const ReadContext& /*context*/);

  void AddInfo(Json& info, const ReadContext& /*context*/) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  Tables Files() const override;

 private:
  /// A function that renders the JSON of a view.
  using Make = Result<Json> (Mem8Container::*)(
      Bytes image, uint32_t section, const ReadContext& context) const;
  Result<Json> MakeHeader(Bytes image, uint32_t section,
                          const ReadContext& context) const;
  Result<Json> MakeStrings(Bytes image, uint32_t section,
                           const ReadContext& context) const;
  Result<Json> MakeSummary(Bytes image, uint32_t section,
                           const ReadContext& context) const;
  Result<Json> MakeSection(Bytes image, uint32_t section,
                           const ReadContext& context) const;

  struct View {
    std::string path;
    uint64_t block;  // cache key of its text
    Make make;
    uint32_t section = 0;
  };

  std::shared_ptr<const FileTable> SectionFiles() const;
  EntryInfo DescribeSection(const Mem8Section& section) const;
  std::vector<View> Views() const;
  std::shared_ptr<const FileTable> ViewFiles(Role role,
                                             std::vector<View> views) const;
  Result<Content> OpenView(const View& view, const ReadContext& context) const;

  /// Returns the error of reading any decoded file, if the CRC is wrong (unless
  /// verify=off) or the file is encrypted; else nullopt.
  std::optional<Error> Refused() const;

  const SourcePtr file_;
  const bool verify_;
  const uint64_t owner_ = NewOwner();
  std::array<std::string, 256> names_;  // of sections by type: "0x0001.bin"
  Mem8Header header_;
  Mem8Layout layout_;
  std::shared_ptr<const Block> image_;
};

Status Mem8Container::Load(const ReadContext& context) {
  const Mem8Image image = CTXFS_TRY(ReadMem8Image(*file_, context));
  header_ = image.header;
  if (file_ != source()) {
    Warn({"the file is zstd-compressed as a whole", 0});
  }
  WarnAll(image.warnings);
  for (unsigned type = 0; type < names_.size(); ++type) {
    const char byte = static_cast<char>(type);
    names_[type] = "0x00" + Hex({&byte, 1}) + ".bin";
  }
  image_ = std::make_shared<const ImageBlock>(Key{owner_, kImageBlock}, file_,
                                              image);
  if (header_.encrypted()) return {};
  layout_ = CTXFS_TRY(FindMem8Sections(image));
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
  // The CRC covers the encrypted bytes, so damage is reported first.
  if (header_.encrypted()) {
    return Error{Code::kLocked,
                 "the file is encrypted by a method that is not documented",
                 kFlagsAt};
  }
  return std::nullopt;
}

Status Mem8Container::AddFacts(const ReadContext& context, Facts& facts) const {
  AddNamed(Info(context),
           {{"byte_order", "byte_order"},
            {"flags", "flag_names"},
            {"sections", "entries"},
            {"strings", "strings"}},
           facts);
  return {};
}

void Mem8Container::AddInfo(Json& info, const ReadContext& context) const {
  info.update(*MakeHeader({}, 0, context));
  info["format"] = "mem8";
  info["version"] = Mem8VersionText(header_.version);
  info["entries"] = layout_.sections.size();
  info["strings"] = layout_.strings.size();
}

Result<Json> Mem8Container::MakeHeader(Bytes /*image*/, uint32_t /*section*/,
                                       const ReadContext& /*context*/) const {
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

Result<Json> Mem8Container::MakeStrings(Bytes image, uint32_t /*section*/,
                                        const ReadContext& context) const {
  Json strings = Json::array();
  for (const Mem8Layout::String& one : layout_.strings) {
    CTXFS_TRY(CheckAt(context, strings.size()));
    strings.push_back(std::string(AsText(image.subspan(one.at, one.size))));
  }
  return strings;
}

Result<Json> Mem8Container::MakeSummary(Bytes image, uint32_t /*section*/,
                                        const ReadContext& context) const {
  Json sections = Json::array();
  uint64_t text = 0;
  for (const Mem8Section& section : layout_.sections) {
    CTXFS_TRY(context.Check());
    Json decoded = CTXFS_TRY(DecodeMem8Section(layout_, image, section, text));
    const std::string_view name = Mem8SectionName(section.type);
    sections.push_back({{"type", section.type},
                        {"offset", section.offset},
                        {"length_field", section.length_field},
                        {"payload_bytes", section.size},
                        {"name", name.empty() ? Json() : Json(name)},
                        {"decoded", std::move(decoded)}});
  }
  return Json{{"sections", std::move(sections)}};
}

Result<Json> Mem8Container::MakeSection(Bytes image, uint32_t section,
                                        const ReadContext& /*context*/) const {
  uint64_t text = 0;
  return DecodeMem8Section(layout_, image, layout_.sections[section], text);
}

EntryInfo Mem8Container::DescribeSection(const Mem8Section& section) const {
  EntryInfo info;
  info.size = Refused() ? 0 : section.size;
  info.name = names_[section.type];
  info.kind = "section";
  info.stored_size = section.size;
  info.offset = section.payload_at();
  info.verified = header_.crc == Mem8Crc::kAbsent || !verify_ ? "none"
                  : header_.crc == Mem8Crc::kMismatch         ? "failed"
                                                              : "yes";
  if (header_.crc != Mem8Crc::kAbsent) {
    // The checksum covers all bytes from 12 on.
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

/// Returns the files .ctxfs/raw/sections/0x00TT.bin, which are the entries.
std::shared_ptr<const FileTable> Mem8Container::SectionFiles() const {
  const std::vector<Mem8Section>& sections = layout_.sections;
  return MakeTable(
      {.placement = {.role = Role::kRawEntries, .directory = "sections"},
       .count = static_cast<uint32_t>(sections.size()),
       .path = [this, &sections](uint32_t section, std::string& /*scratch*/)
           -> std::string_view { return names_[sections[section].type]; },
       .open = [this, &sections](
                   uint32_t section,
                   const ReadContext& /*context*/) -> Result<Content> {
         if (std::optional<Error> refused = Refused()) {
           return *std::move(refused);
         }
         return Content(Decoded{image_, sections[section].payload_at()},
                        sections[section].size);
       },
       .facts =
           [this, &sections](uint32_t section) {
             FileFacts facts{sections[section].size, Refused()};
             if (facts.fault) facts.size = 0;
             return facts;
           },
       .describe =
           [this, &sections](uint32_t section, const ReadContext& /*context*/) {
             return DescribeSection(sections[section]);
           },
       .owner = Share(*this)});
}

/// header.json, strings.json, and NAME.json for each section with a name.
std::vector<Mem8Container::View> Mem8Container::Views() const {
  std::vector<View> views;
  const auto add = [&views](std::string path, Make make, uint32_t section = 0) {
    views.push_back(
        {std::move(path), kFirstViewBlock + views.size(), make, section});
  };
  add("header.json", &Mem8Container::MakeHeader);
  add("strings.json", &Mem8Container::MakeStrings);
  std::array<uint32_t, 256> seen{};
  for (uint32_t i = 0; i < layout_.sections.size(); ++i) {
    const auto type = layout_.sections[i].type;
    std::string name(Mem8SectionName(type));
    if (name.empty()) continue;
    // Numbers repeated names, because for each of thousands of equal names the
    // tree would search for a free one.
    const uint32_t number = ++seen[type];
    if (number > 1) name += "~" + std::to_string(number);
    add(name + ".json", &Mem8Container::MakeSection, i);
  }
  return views;
}

Result<Content> Mem8Container::OpenView(const View& view,
                                        const ReadContext& context) const {
  const auto make = [self = Share(*this),
                     view](const ReadContext& request) -> Result<std::string> {
    const BlockCache::Pinned image = CTXFS_TRY(request.Get(*self->image_));
    const Json json =
        CTXFS_TRY(((*self).*view.make)(image->span(), view.section, request));
    return FormatJson(json);
  };
  return CachedText({owner_, view.block}, source(), make, context);
}

std::shared_ptr<const FileTable> Mem8Container::ViewFiles(
    Role role, std::vector<View> list) const {
  const auto views = std::make_shared<const std::vector<View>>(std::move(list));
  // The header of an encrypted file is not encrypted.
  const auto fault = [this, views](uint32_t view) -> std::optional<Error> {
    const bool header = (*views)[view].make == &Mem8Container::MakeHeader;
    return header && header_.encrypted() ? std::nullopt : Refused();
  };
  return MakeTable(
      {.placement = {.role = role},
       .count = static_cast<uint32_t>(views->size()),
       .path = [views](uint32_t view, std::string& /*scratch*/)
           -> std::string_view { return (*views)[view].path; },
       .open = [this, views, fault](uint32_t view, const ReadContext& context)
           -> Result<Content> {
         if (std::optional<Error> refused = fault(view)) {
           return *std::move(refused);
         }
         return OpenView((*views)[view], context);
       },
       .facts =
           [this, fault](uint32_t view) {
             FileFacts facts{.fault = fault(view),
                             .size_cost = TextCost(image_->cost())};
             if (facts.fault) facts.size = 0;
             return facts;
           },
       .owner = Share(*this)});
}

Container::Tables Mem8Container::Files() const {
  return {SectionFiles(), ViewFiles(Role::kPrimary, Views()),
          ViewFiles(Role::kMetadata, {{"summary.json", kSummaryBlock,
                                       &Mem8Container::MakeSummary}})};
}

bool ProbeMem8(Bytes head) { return Mem8KindOfHead(head) == Mem8Kind::kMem8; }

bool Resembles(Bytes head) {
  return Mem8KindOfHead(head) != Mem8Kind::kUnknown;
}

/// Opens a file that is one zstd frame: decompresses it, then probes it.
Result<std::shared_ptr<const Container>> OpenPacked(
    SourcePtr source, const OpenOptions& options, const ReadContext& context) {
  Error refusal = NotMem8(Mem8Kind::kPacked);
  if (source->size() > kMaxBytes) return refusal;
  const Buffer stored =
      CTXFS_TRY(ReadBuffer(*source, 0, source->size(), "file", context));
  Result<ZstdFrame> frame =
      DecodeZstdFrame(stored.span(), kMaxBytes, context.interrupt());
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
      return OpenMem8Archive(std::move(source), std::move(file), options,
                             context);
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
  const Buffer magic = CTXFS_TRY(ReadBuffer(
      *source, 0, std::min(source->size(), kMagicSize), "magic", context));
  if (LooksLikeZstd(magic.span())) {
    return OpenPacked(std::move(source), options, context);
  }
  return LoadContainer<Mem8Container>(context, source, source, options);
}

}  // namespace

}  // namespace ctxfs::mem8

namespace ctxfs {

extern const Format kMem8{
    .name = "mem8",
    .contents = "MEM8 memories",
    .extensions = "mem8",
    .golden = "mem8",
    .docs = "mem8",
    .probe = &mem8::ProbeMem8,
    .open = &mem8::Open,
    .resembles = &mem8::Resembles,
    .traits = {.optional_checksums = true, .zstd_is_own = true}};

}  // namespace ctxfs
