// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/tar/header.h"
#include "core/formats/tar/members.h"
#include "core/formats/tar/pax.h"
#include "core/formats/tar/sparse.h"
#include "core/io/source.h"
#include "core/io/window_reader.h"

namespace ctxfs::tar {

/// How often a harmless fault or peculiarity occurs; offset of the first.
struct Note {
  uint64_t count = 0;
  uint64_t offset = 0;
};

/// Walks from header to header and collects the members (docs/formats/tar.md,
/// sections 1 to 8). Reads no data of members, except the maps of sparse files.
class Walk {
 public:
  /// `source` and `request` must outlive this object.
  Walk(const Source& source, Members& members, const Request& request)
      : source_(source),
        request_(request),
        reader_(source, request),
        members_(members),
        last_(members),
        plain_(members, /*plain=*/true) {}

  /// Walks to the end of the archive and of those that follow it. On failure,
  /// the members before the fault remain. Fails with kCorrupt (section 11),
  /// kLimit, and as reads do.
  Status Run(const ReadContext& context);

  /// Notes, by their keys in docs/formats/tar.md: "hard_link", "special", ....
  const std::map<std::string_view, Note>& notes() const { return notes_; }
  /// The dialect of the first header: "ustar", "gnu" or "v7".
  std::string_view dialect() const { return dialect_; }
  /// If the file is truncated, the size that it must at least have had; else 0.
  uint64_t needed() const { return needed_; }
  uint64_t at() const { return at_; }
  bool pax() const { return pax_; }

 private:
  /// Properties of the next member, from the headers before it.
  struct Pending {
    PaxValues pax;
    std::optional<std::string> long_name;
    std::optional<std::string> long_link;
    unsigned headers = 0;
  };

  struct Subject {
    char type = 0;
    std::string path;
    std::string link;
    Extent data;
    uint64_t next = 0;  // offset of the next header
    bool sparse = false;
    std::string fault = {};  // why it cannot be read; else empty
  };

  void AddNote(std::string_view key, uint64_t offset);
  /// Skips a block of zeros. Returns true after kMaxZeros, from where on no
  /// further archive is searched.
  bool SkipZeroBlock();
  /// Handles the header at at_ and moves to the next header.
  Status MeetHeader(const Header& header, const ReadContext& context);
  /// Whether the header at at_, which follows an end mark, is not of another
  /// archive, but old data that fills the last record (kRecord bytes) of the
  /// file. It is if the archive did not fill that record, and the file does not
  /// end with an end mark.
  Result<bool> IsRestOfRecord() const;
  /// Notes that another archive starts at at_.
  void StartArchive();
  Status MeetExtension(const Header& header);
  Status MeetMember(const Header& header, const ReadContext& context);
  Result<std::string> ReadExtension(uint64_t size);
  /// Finds the header's data, and adds the member. May invalidate `header`.
  Status AddMember(Bytes header, Subject& subject, const ReadContext& context);
  Subject Name(const Header& header) const;
  StoredAttributes AttributesOf(const Header& header) const;
  /// Sets the size of the data. If a pax header has a wrong size, the member is
  /// unreadable, and the size in its own header counts.
  Status FindSize(const Header& header, Subject& subject) const;
  /// Checks that the data at data_at_ is in the file; finds its end.
  Status Place(Subject& subject);
  Status AddDirectory(std::string_view path);
  Status AddHardLink(const Subject& subject);
  Status AddFile(Kind kind, const Subject& subject);
  Status AddSymlink(const Subject& subject);
  Status AddUnreadable(const Subject& subject, std::string why);
  /// Records the newest member as the last of its name in this archive. If an
  /// earlier archive has a member of the name, yields to that one instead.
  Status PutLast();
  /// Returns the file that a hard link with target `path` means: the last one
  /// in this archive, else in an earlier one. `path` may be a member's name or
  /// its plain path.
  std::optional<uint32_t> Target(std::string_view path) const;
  std::optional<uint32_t> Last(std::string_view path) const;
  /// Whether a member is a directory. V7 has no type for directories, and ends
  /// their names in a slash.
  static bool IsDirectory(const Subject& subject);
  /// Fails if names take more bytes than the archive has.
  Status CountNames(const Subject& subject);

  // Defined in walk_sparse.cc.
  Status AddSparse(Bytes header, Subject& subject, const ReadContext& context);
  /// Reads a GNU sparse map from the header and the blocks after it; moves
  /// data_at_ past these blocks.
  Status ReadGnuMap(Bytes header, SparseBuilder& map, uint64_t& size,
                    const ReadContext& context);
  /// Reads the map at the start of `data`, and removes it from `data`.
  Status ReadPaxMap(Extent& data, SparseBuilder& map,
                    const ReadContext& context);
  /// Moves the complete lines of `text` to `map`. `left`: how many numbers
  /// follow; unset before the first line, which is the count of parts.
  static void ReadMapLines(std::string& text, std::optional<uint64_t>& left,
                           SparseBuilder& map);
  void LimitHoles(SparseMap& map);
  Error At(Error error) const;
  /// Sets needed_, and returns an error: the `size` bytes of `what` at `at`
  /// extend past the end of the file.
  Error Truncated(uint64_t at, uint64_t size, std::string what);

  const Source& source_;
  const Request& request_;
  WindowReader reader_;
  Members& members_;
  LastOfName last_;
  LastOfName plain_;  // of members whose names are not plain paths
  uint64_t at_ = 0;
  uint64_t data_at_ = 0;       // of the current member
  uint64_t zeros_ = 0;         // bytes of zeros before at_
  bool ended_ = false;         // zeros followed the last header
  uint64_t archive_at_ = 0;    // start of the current archive
  uint32_t first_member_ = 0;  // of the current archive
  std::vector<Members::Yield> yields_;
  /// Maps a member of an earlier archive, which keeps its path, to the last
  /// member of the current archive with that path.
  std::unordered_map<uint32_t, uint32_t> yielding_;
  Pending pending_;
  PaxValues global_;
  std::map<std::string_view, Note> notes_;
  uint64_t name_bytes_ = 0;    // of all names and targets so far
  uint64_t sparse_parts_ = 0;  // of all maps
  uint64_t holes_ = 0;         // bytes
  uint64_t needed_ = 0;        // bytes
  std::string_view dialect_ = "v7";
  bool first_ = true;
  bool pax_ = false;
};

}  // namespace ctxfs::tar
