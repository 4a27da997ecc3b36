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

/// How often a fault or peculiarity occurs that does not stop the walk, and the
/// offset of the first.
struct Note {
  uint64_t count = 0;
  uint64_t offset = 0;
};

/// Goes from header to header and collects the members (docs/formats/tar.md,
/// sections 1 to 8). Reads no data.
class Walk {
 public:
  /// `source` and `request` outlive this object.
  Walk(const Source& source, Members& members, const Request& request)
      : source_(source),
        request_(request),
        reader_(source, request),
        members_(members),
        last_(members),
        plain_(members, /*plain=*/true) {}

  /// Walks to the end of the archive. Keeps the members before a fault. Fails
  /// with kCorrupt for a fault of section 11, with kLimit, and as reads do.
  Status Run(const ReadContext& context);

  /// The notes by the keys of docs/formats/tar.md: "link", "special", ...
  const std::map<std::string_view, Note>& notes() const { return notes_; }
  /// The dialect of the first header: "ustar", "gnu" or "v7".
  std::string_view dialect() const { return dialect_; }
  /// The offset of the end of the data or header that the end of the file cuts
  /// off; 0 if nothing is cut off.
  uint64_t needed() const { return needed_; }
  /// The byte at which the walk has ended.
  uint64_t at() const { return at_; }
  /// Whether there was a pax header.
  bool pax() const { return pax_; }

 private:
  /// Properties of a member from the headers before it.
  struct Pending {
    PaxValues pax;
    std::optional<std::string> long_name;
    std::optional<std::string> long_link;
    unsigned headers = 0;
  };

  /// The names and the data of the current member.
  struct Subject {
    char type = 0;
    std::string path;
    std::string link;
    Extent data;
    uint64_t next = 0;  // offset of the next header
    bool sparse = false;
    std::string fault = {};  // why it cannot be read; empty: it can
  };

  void AddNote(std::string_view key, uint64_t offset);
  /// Goes past a block of zeros. Returns whether no archive can follow.
  bool SkipZeroBlock();
  /// Handles the header at at_ and moves on to the next one.
  Status MeetHeader(const Header& header, const ReadContext& context);
  /// Whether the header at at_, behind an end, is in the last record of the
  /// file, which the archive before the end did not fill, and nothing ends an
  /// archive behind it.
  Result<bool> IsRestOfRecord() const;
  /// Notes that another archive starts at at_.
  void StartArchive();
  Status MeetExtension(const Header& header);
  Status MeetMember(const Header& header, const ReadContext& context);
  Result<std::string> ReadExtension(uint64_t size);
  /// Finds the data of the member with this header, and adds the member. Reads
  /// may overwrite `header`.
  Status AddMember(Bytes header, Subject& subject, const ReadContext& context);
  Subject Name(const Header& header) const;
  StoredAttributes AttributesOf(const Header& header) const;
  /// Sets the size of the data. A pax header with a wrong size makes the member
  /// unreadable; it is then as long as its header says.
  Status FindSize(const Header& header, Subject& subject) const;
  /// Checks that the data at data_at_ is in the file, and finds its end.
  Status Place(Subject& subject);
  Status AddDirectory(std::string_view path);
  Status AddHardLink(const Subject& subject);
  Status AddFile(Kind kind, const Subject& subject);
  Status AddSymlink(const Subject& subject);
  /// Adds a file that cannot be read.
  Status AddUnreadable(const Subject& subject, std::string why);
  /// Notes that the newest member is the last of its name in its archive.
  Status PutLast();
  /// The last file of the archive at `path`, else that of an earlier archive.
  /// A target may have the name of a member, or its plain path.
  std::optional<uint32_t> Target(std::string_view path) const;
  std::optional<uint32_t> Last(std::string_view path) const;
  /// Also by name: in V7, directories have no type, and end in a slash.
  static bool IsDirectory(const Subject& subject);
  /// Refuses names that take more bytes than the archive has.
  Status CountNames(const Subject& subject);

  // walk_sparse.cc.
  Status AddSparse(Bytes header, Subject& subject, const ReadContext& context);
  /// Reads the map of a sparse file of GNU from its header and the blocks after
  /// it, and moves data_at_ behind those.
  Status ReadGnuMap(Bytes header, SparseBuilder& map, uint64_t& size,
                    const ReadContext& context);
  /// Reads the map at the start of `data`, and removes it from `data`.
  Status ReadPaxMap(Extent& data, SparseBuilder& map,
                    const ReadContext& context);
  /// Adds the complete lines of `text` to `map`, and removes them from `text`.
  /// `left`: how many numbers follow; not set before the first line, which
  /// gives the count of parts.
  static void ReadMapLines(std::string& text, std::optional<uint64_t>& left,
                           SparseBuilder& map);
  void LimitHoles(SparseMap& map);
  Error At(Error error) const;
  /// Sets needed_, and returns the error of `what`, whose `size` bytes at `at`
  /// run past the end of the file.
  Error Truncated(uint64_t at, uint64_t size, std::string what);

  const Source& source_;
  const Request& request_;
  WindowReader reader_;
  Members& members_;
  LastOfName last_;
  LastOfName plain_;  // of members whose names are no plain paths
  uint64_t at_ = 0;
  uint64_t data_at_ = 0;       // of the current member
  uint64_t zeros_ = 0;         // bytes of zeros before at_
  bool ended_ = false;         // there were zeros since the last header
  uint64_t archive_at_ = 0;    // where the current archive starts
  uint32_t first_member_ = 0;  // of the current archive
  std::vector<Members::Yield> yields_;
  /// By a member of an earlier archive that keeps its path: the last member of
  /// the current archive with that path.
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
