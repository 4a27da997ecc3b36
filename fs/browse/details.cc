// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/details.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "core/base/dtype.h"
#include "core/base/json/json.h"
#include "core/base/text/human_size.h"
#include "core/base/text/text.h"
#include "core/container/exports.h"
#include "core/report/identity.h"
#include "core/report/sections/array_statistics.h"
#include "core/report/sections/contact_sheet.h"
#include "core/vfs/file_array.h"
#include "core/views/arrays/elements.h"
#include "core/views/pictures/picture_of.h"
#include "core/views/view.h"
#include "fs/browse/browser.h"
#include "fs/browse/first_values.h"
#include "fs/common/histogram.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

/// Limits of a description.
struct DetailLimits {
  size_t lines;
  size_t text;  // bytes of a file shown as text,
  size_t hex;   // or else in hexadecimal
};

DetailLimits LimitsOf(const DetailRoom& room) {
  constexpr DetailLimits kWhole{4000, 256 * 1024, 32 * 1024};
  return room.whole ? kWhole : DetailLimits{room.lines, 16 * 1024, 1024};
}

/// Collects the lines for one file or directory.
class Writer {
 public:
  Writer(SourceTree& tree, const DetailRoom& room, const ReadContext& context)
      : tree_(tree), room_(room), limits_(LimitsOf(room)), context_(context) {}

  Details Take() { return std::move(details_); }

  void AddAny(const SourceTree::File& file) {
    if (file.link) return AddLink(file);
    if (file.directory) return AddDirectory(file);
    AddFile(file);
  }

  void AddLink(const SourceTree::File& link) {
    if (const auto target = tree_.ReadLink(link)) {
      AddField("link to", ListedName(*target));
    }
    const Result<SourceTree::File> file = tree_.Find(link.path);
    if (!file) return AddError(file.error());
    AddAny(*file);
  }

  /// Describes the container at the directory, or counts its files and
  /// describes the container around it.
  void AddDirectory(const SourceTree::File& directory) {
    if (room_.listings && !tree_.ContainerAt(directory)) AddNumbers(directory);
    const auto container = ContainerAround(tree_, directory);
    if (container) {
      AddContainer(**container);
    } else if (container.error().code == Code::kNotContainer) {
      if (room_.listings) AddNames(directory);
    } else {
      AddError(container.error());
    }
  }

  void AddFile(const SourceTree::File& file) {
    const Result<std::optional<EntryInfo>> known = tree_.Describe(file);
    EntryInfo info;
    if (known && *known) {
      info = **known;
      if (info.add_findings) info.add_findings(info, tree_.context());
      AddEntry(info);
    }
    if (const auto inside = tree_.FindInside(file))
      return AddDirectory(*inside);
    Result<OpenFile> opened = tree_.Open(file);
    if (!opened) return AddError(opened.error());
    const Content& content = opened->content;
    if (!(known && *known)) AddField("size", HumanSize(content.size()));
    Add("");
    const std::optional<ArrayInfo> array =
        ArrayOfFile(tree_, file, info, content, context_);
    const Status shown = array ? AddArray(*array) : AddBeginning(content);
    if (!shown) AddError(shown.error());
    RenewChecksum(file);
  }

 private:
  /// Adds how many files and directories a directory has.
  void AddNumbers(const SourceTree::File& directory) {
    constexpr uint64_t kMaxCounted = 10'000;
    uint64_t files = 0;
    uint64_t directories = 0;
    const Status counted =
        ForEachName(directory, [&](const SourceTree::File& file) {
          ++(file.directory ? directories : files);
          return files + directories < kMaxCounted;
        });
    if (!counted) return AddError(counted.error());
    const bool all = files + directories < kMaxCounted;
    AddField(
        "directory",
        fmt::format("{}{} {}, {} {}", all ? "" : "at least ", Grouped(files),
                    files == 1 ? "file" : "files", Grouped(directories),
                    directories == 1 ? "directory" : "directories"));
  }

  /// Adds the first names of a directory.
  void AddNames(const SourceTree::File& directory) {
    Add("");
    (void)ForEachName(directory, [&](const SourceTree::File& file) {
      const Colour colour = file.directory ? Colour::kBlue : Colour::kNone;
      details_.lines.push_back(
          {ListedName(file.name()) + (file.directory ? "/" : ""), colour});
      return details_.lines.size() < limits_.lines;
    });
  }

  /// Calls `visit` with files of a directory until it returns false.
  Status ForEachName(
      const SourceTree::File& directory,
      const std::function<bool(const SourceTree::File&)>& visit) {
    bool stopped = false;
    const auto next = [&](const SourceTree::File& file) -> Status {
      stopped = !visit(file);
      if (stopped) return Error{Code::kLimit, ""};
      return {};
    };
    const Status done =
        tree_.ForEach(directory, next, nullptr, SourceTree::Children::kNamed);
    return stopped ? Status() : done;
  }

  void AddContainer(const Container& container) {
    const Identity identity = Identity::Of(container, context_);
    AddField("format", container.FormatName(context_));
    for (const Fact& fact : identity.facts.all()) {
      AddField(fact.key, FactText(fact));
    }
    for (const std::string& note : identity.Notes()) Add(note);
  }

  void Add(const std::string& text, Colour colour = Colour::kNone) {
    details_.lines.push_back({ShownText(text), colour});
  }

  void AddError(const Error& error) {
    const bool waits = error.code == Code::kInterrupted;
    if (!waits) Add(error.Text(), Colour::kRed);
  }

  /// Adds the lines of a value, the first after its name.
  void AddField(const std::string& name, const std::string& value) {
    constexpr size_t kMaxLines = 8;
    std::string head = FieldHead(name);
    size_t at = 0;
    for (size_t line = 0; line < kMaxLines && at <= value.size(); ++line) {
      const size_t end = std::min(value.find('\n', at), value.size());
      details_.lines.push_back({head + ShownText(value.substr(at, end - at))});
      head.assign(head.size(), ' ');
      at = end + 1;
    }
  }

  static std::string ChecksumText(const EntryInfo& info) {
    return info.checksum + ", verified: " + info.verified;
  }

  /// Updates the checksum line: reading the file may have verified it.
  void RenewChecksum(const SourceTree::File& file) {
    if (!checksum_line_) return;
    const Result<std::optional<EntryInfo>> now = tree_.Describe(file);
    if (!now || !*now) return;
    const std::string& verified = (*now)->verified;
    details_.lines[*checksum_line_] = {
        FieldHead("checksum") + ShownText(ChecksumText(**now)),
        verified == "yes"      ? Colour::kGreen
        : verified == "failed" ? Colour::kRed
                               : Colour::kNone};
  }

  static std::string FieldHead(const std::string& name) {
    return fmt::format("{:<13} ", ShownText(name));
  }

  void AddEntry(const EntryInfo& info) {
    AddField("kind", info.kind);
    if (!info.dtype.empty()) AddField("dtype", info.dtype);
    if (info.shape) AddField("shape", JsonLine(*info.shape));
    std::string size = HumanSize(info.size);
    if (!info.computed && info.codec != "none") {
      size += ", stored " + HumanSize(info.stored_size) + " by " + info.codec;
    }
    AddField("size", size);
    if (!info.checksum.empty()) {
      checksum_line_ = details_.lines.size();
      AddField("checksum", ChecksumText(info));
    }
    if (!info.note.empty()) Add(info.note, Colour::kYellow);
  }

  Status AddArray(const ArrayInfo& array) {
    if (const std::optional<Picture> picture = PictureOf(array)) {
      return AddPicture(array, *picture);
    }
    if (!HasStatistics(array.dtype) || CountOf(array) == 0) return {};
    const ArrayStatistics statistics =
        CTXFS_TRY(StatisticsOf(array, /*exact=*/false, context_));
    AddStatistics(statistics);
    if (room_.whole) return AddValues(array);
    return {};
  }

  Status AddValues(const ArrayInfo& array) {
    const std::vector<std::string> lines =
        CTXFS_TRY(FirstValues(array, room_.columns, context_));
    Add("");
    Add("first values", Colour::kBold);
    for (const std::string& line : lines) Add(line);
    return {};
  }

  void AddStatistics(const ArrayStatistics& all) {
    const auto number = [](double value) {
      return fmt::format("{:.4g}", value);
    };
    std::string elements = Grouped(all.elements);
    if (all.read < all.elements) {
      elements += " (of a sample of " + Grouped(all.read) + ":)";
    }
    AddField("elements", elements);
    if (!std::isnan(all.min)) {
      AddField("range", number(all.min) + " to " + number(all.max));
      AddField("mean",
               number(all.mean) + ", deviation " + number(all.deviation));
    }
    AddField("zeros", Grouped(all.zeros));
    if (all.nans > 0) AddField("NaN", Grouped(all.nans));
    if (all.infinities > 0) AddField("infinite", Grouped(all.infinities));
    if (all.bins.empty()) return;
    Add("");
    const size_t most = 10;
    const size_t taken = details_.lines.size() + 2;
    const size_t lines =
        std::clamp<size_t>(room_.lines - std::min(room_.lines, taken), 2, most);
    for (std::string& line :
         BarChart(all.bins, room_.columns, lines, room_.utf8)) {
      details_.lines.push_back({std::move(line), Colour::kBlue});
    }
    Add(number(all.low) + " ... " + number(all.high));
  }

  Status AddPicture(const ArrayInfo& array, const Picture& picture) {
    const Content all = CTXFS_TRY(OpenElements(array, context_));
    AddField("pictures", fmt::format("{} of {} x {}", Grouped(array.shape[0]),
                                     picture.width, picture.height));
    Buffer pixels(static_cast<size_t>(picture.size()));
    CTXFS_TRY(ReadInto(all, 0, pixels.span(), context_));
    // A character shows two pixels, one above the other.
    const size_t lines =
        room_.lines - std::min(room_.lines, details_.lines.size());
    const size_t side = std::min(room_.columns, 2 * lines);
    if (side < 4) return {};
    Picture small;
    const Buffer shrunk =
        Shrink(picture, pixels.span(), static_cast<uint32_t>(side), small);
    const auto longest = std::max(small.width, small.height);
    details_.picture =
        RgbOf(small, shrunk.span(), static_cast<uint32_t>(side) / longest);
    return {};
  }

  /// Converts to RGB, scaling each pixel to `scale` x `scale`.
  static Pixels RgbOf(const Picture& picture, Bytes pixels, uint32_t scale) {
    Pixels shown{picture.width * scale, picture.height * scale, {}};
    const size_t channels = picture.channels;
    for (uint32_t y = 0; y < shown.height; ++y) {
      for (uint32_t x = 0; x < shown.width; ++x) {
        const size_t pixel = size_t{y / scale} * picture.width + x / scale;
        const auto value = [&](size_t channel) {
          const size_t of = channels < 3 ? 0 : channel;
          return static_cast<uint8_t>(pixels[pixel * channels + of]);
        };
        shown.rgb.push_back({value(0), value(1), value(2)});
      }
    }
    return shown;
  }

  /// Adds the first lines of a text, or else the first bytes.
  Status AddBeginning(const Content& content) {
    std::string bytes(std::min<uint64_t>(content.size(), limits_.text), '\0');
    CTXFS_TRY(ReadInto(content, 0, std::as_writable_bytes(std::span(bytes)),
                       context_));
    if (IsText(bytes)) {
      AddText(bytes);
    } else {
      AddHex(bytes);
    }
    return {};
  }

  /// Whether `bytes` has no control characters except white space. The last
  /// character may be cut off.
  static bool IsText(const std::string& bytes) {
    return std::ranges::none_of(bytes, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte < ' ' && c != '\n' && c != '\t' && c != '\r';
    });
  }

  void AddText(const std::string& text) {
    for (size_t at = 0;
         at < text.size() && details_.lines.size() < limits_.lines;) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.pop_back();
      std::ranges::replace(line, '\t', ' ');
      Add(line);
      at = end + 1;
    }
  }

  void AddHex(const std::string& bytes) {
    // A line takes 11 columns, and 4 for each byte: an offset of 8 digits, two
    // spaces, each byte as two digits and a space, a space, each byte as a
    // character.
    const size_t fits = room_.columns > 14 ? (room_.columns - 11) / 4 : 1;
    const size_t each = std::clamp<size_t>(fits / 4 * 4, 4, 16);
    const size_t shown = std::min(bytes.size(), limits_.hex);
    for (size_t at = 0; at < shown && details_.lines.size() < limits_.lines;
         at += each) {
      std::string line = fmt::format("{:08x}  ", at);
      std::string right;
      for (size_t i = at; i < std::min(at + each, shown); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        line += fmt::format("{:02x} ", byte);
        right += byte >= ' ' && byte < 0x7F ? bytes[i] : '.';
      }
      line.resize(10 + 3 * each + 1, ' ');
      details_.lines.push_back({line + right});
    }
  }

  SourceTree& tree_;
  const DetailRoom& room_;
  const DetailLimits limits_;
  const ReadContext& context_;
  Details details_;
  std::optional<size_t> checksum_line_;
};

}  // namespace

Details DetailsOf(SourceTree& tree, const SourceTree::File& file,
                  const DetailRoom& room, const ReadContext& context) {
  Writer writer(tree, room, context);
  writer.AddAny(file);
  return writer.Take();
}

}  // namespace ctxfs
