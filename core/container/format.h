// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/secret.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

class FormatSet;
class PersistentCache;

struct OpenOptions {
  bool verify = true;    // false: checksums are ignored
  bool salvage = false;  // structural faults become faults of entries
  bool alone = false;    // opens no other file that the container names
  /// The file was found, and nobody said that it is a container: a format with
  /// a name_suffix then opens it only if its name has that suffix.
  bool found = false;
  /// The key of encrypted entries. Without it they are listed but not opened.
  std::shared_ptr<const MasterKey> key = nullptr;
  /// With kEveryone, a file that the container names is opened only if everyone
  /// who may read the container may read it.
  AccessScope access = AccessScope::kMounter;
  /// See SourceOptions.
  bool watch_ctime = false;
  /// Where what takes a pass over a file is kept for other mounts; null:
  /// nowhere. Outlives the containers.
  PersistentCache* kept = nullptr;
  /// All formats, for containers that name or hold files of other formats.
  /// OpenContainer sets it. Null: no other format is known.
  const FormatSet* formats = nullptr;

  SourceOptions source_options() const { return {access, watch_ctime}; }
};

/// What programs and tests must know of a format without opening a container.
struct Traits {
  /// A mirror shows its files as files and not as directories, because common
  /// programs open them.
  bool stays_file = false;
  /// Opening a container may open files beside it, which it names.
  bool opens_neighbours = false;
  /// A file holds a single thing. In another container it is no container with
  /// a directory of its own: archives have thousands of arrays, which the views
  /// of the archive show.
  bool leaf = false;
  /// Entries may have a checksum and need not. (Without it either all have one,
  /// or none can.)
  bool optional_checksums = false;
  /// Containers that zstd has compressed are a form of the format itself, which
  /// `resembles` tells and `open` reads.
  bool zstd_is_own = false;
  /// Opening a container reads its last bytes: those of a file with one of the
  /// format's extensions are fetched from a server together with its first.
  bool index_at_end = false;
};

/// A container format. To add one, write a folder core/formats/NAME with a file
/// that ends in `extern const Format kName{...};`, and name kName in
/// core/formats/registry.cc (docs/adding-a-format.md).
struct Format {
  std::string_view name;

  /// The contents of its containers in a few words, for people.
  std::string_view contents;

  /// Extensions of its files, without dots, separated by blanks: "sjgn sjgz".
  /// They only show which entries may be containers themselves; formats are
  /// recognised by their content.
  std::string_view extensions;

  /// The part of `extensions` that text files use, too: Python's path
  /// configuration files end in .pth.
  std::string_view text_extensions = {};

  /// The folders of golden/ that have its containers, and the pages of docs/
  /// that describe it, separated by blanks.
  std::string_view golden = {};
  std::string_view docs = {};

  /// Whether a container starts with `head` (limits::kProbeBytes, or all of a
  /// shorter file). Cannot fail; `open` reports damage.
  bool (*probe)(Bytes head);

  Result<std::shared_ptr<const Container>> (*open)(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context);

  /// Whether a file that starts with `head`, and that no probe recognises, may
  /// be opened if the user or other metadata says that it is a container. It
  /// can be a compressed container, or one of a related format, which `open`
  /// refuses with kNotContainer and the name of that format. Null: never.
  bool (*resembles)(Bytes head) = nullptr;

  /// Like resembles, for files that bytes other than their first ones identify.
  /// Null: never.
  bool (*resembles_source)(const Source& source,
                           const Request& request) = nullptr;

  /// The end of the names of its files, for a format whose files cannot be
  /// recognised by their bytes alone: a file with such a name that `resembles`
  /// a container is one. Empty: names are ignored.
  std::string_view name_suffix = {};

  /// The name of a file that describes all files in its folder. A mirror shows
  /// that container as FOLDER~dir. Empty: there is none.
  std::string_view folder_index = {};
  /// The end of the names of the files that such a folder has, and that are no
  /// containers of their own because they are parts of it. Empty: all files are
  /// what their bytes say.
  std::string_view folder_parts = {};

  /// Whether `directory` is a container of this format. Null: none is.
  bool (*probe_directory)(const Source& directory,
                          const Request& request) = nullptr;

  /// Whether a directory that no probe recognises was probably meant to be such
  /// a container. Opening it then gives an error that says what is missing.
  bool (*resembles_directory)(const Source& directory,
                              const Request& request) = nullptr;

  Traits traits = {};

  /// Whether a directory may be a container of this format.
  bool reads_directories() const { return probe_directory != nullptr; }
};

/// All formats, as an interface for each of them: they include no others.
class FormatSet {
 public:
  /// The format whose probe accepts a file that starts with `head`, or null.
  virtual const Format* Of(Bytes head) const = 0;

  /// See OpenContainer.
  virtual Result<std::shared_ptr<const Container>> Open(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context) const = 0;

 protected:
  ~FormatSet() = default;
};

/// Every format, in the order in which their probes are called.
std::span<const Format* const> Formats();

/// The first bytes of a file, as many as probes see.
Result<Buffer> ReadHead(const Source& source, const Request& request);

/// Whether a file that starts with `head` is a container.
bool IsContainer(Bytes head);
/// Like IsContainer, but only for formats without Traits::stays_file: a mirror
/// shows such a container in place of the file.
bool IsContainerInPlaceOfFile(Bytes head);
/// Whether a file that starts with `head` is a container if its name is one for
/// which IsContainerName is true.
bool IsContainerIfNamed(Bytes head);
/// Whether `name` ends in the name_suffix of some format.
bool IsContainerName(std::string_view name);
/// The format whose folder_parts `name` ends in; null if there is none.
const Format* FormatOfPart(std::string_view name);
/// Whether a directory is a container.
bool IsContainerDirectory(const Source& directory,
                          const Request& request = Request());
/// Whether a directory was probably meant to be a container.
bool ResemblesContainer(const Source& directory,
                        const Request& request = Request());

/// The words of `list`, which are separated by blanks.
std::vector<std::string_view> WordsOf(std::string_view list);

/// Whether `name` ends in an extension of some format without Traits::leaf.
bool HasContainerExtension(std::string_view name);

/// Whether the name of a file is one that containers have which a mirror shows
/// in place of the file (IsContainerInPlaceOfFile).
bool MayReplaceFile(std::string_view name);

/// Whether the name of a file has an extension of a format with
/// Traits::index_at_end.
bool NamesIndexAtEnd(std::string_view name);

/// The kind of contents that a file's name implies.
enum class NameClaim : uint8_t {
  kNothing,
  kContainerOrText,  // an extension of Format::text_extensions
  kContainer,        // another extension of some format, or a name_suffix
};
/// Upper and lower case are the same in an extension.
NameClaim ClaimOf(std::string_view name);

/// Whether a file that no format recognises claims by its name that it is a
/// container. If text files share its extension, a text claims nothing, unless
/// it is a page or a pointer that was saved in place of a container. `head` is
/// that of RecogniseForeign (foreign_formats.h).
bool ClaimsContainer(std::string_view name, Bytes head);

/// Opens `source` with the first format that recognises it, or else that it
/// resembles. Fails with kNotContainer if there is none.
Result<std::shared_ptr<const Container>> OpenContainer(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context = LoneContext());

}  // namespace ctxfs
