// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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

/// The archive whose members are the files of a container.
struct ArchiveAround {
  std::vector<Warning> warnings;
  /// Whether a checksum of the archive verifies the bytes of each file.
  bool verifies = false;
};

struct OpenOptions {
  bool verify = true;    // false: checksums are ignored
  bool salvage = false;  // structural faults become faults of entries
  bool alone = false;    // opens no other file that the container names
  /// The file was found by a search, not named as a container: a format with a
  /// name_suffix then opens it only if its name has that suffix, and a
  /// compressed file is opened only if a container is recognised in it.
  bool found = false;
  /// The key of encrypted entries. Without it they are listed but locked.
  std::shared_ptr<const MasterKey> key = nullptr;
  /// With kEveryone, a file that the container names is opened only if it is
  /// readable for everyone who may read the container.
  AccessScope access = AccessScope::kMounter;
  /// See SourceOptions.
  bool watch_ctime = false;
  /// Shares the results of passes over whole files with other mounts; null: not
  /// shared. It must outlive the containers.
  PersistentCache* kept = nullptr;
  /// Null: the container's files are no members of an archive.
  std::shared_ptr<const ArchiveAround> archive = nullptr;
  /// All formats, for containers that name or contain files of other formats;
  /// set by OpenContainer. Null: no other format is known.
  const FormatSet* formats = nullptr;

  SourceOptions source_options() const { return {access, watch_ctime}; }

  /// Whether opening a container must fail with `error`, with which a file that
  /// it names could not be read: the container would lack that file until it is
  /// reopened. With `salvage`, a file that cannot be read is a fault.
  bool FailsWith(const Error& error) const {
    return error.Passing() && !(salvage && error.code == Code::kIo);
  }
};

/// Properties of a format for programs and tests that open no container.
struct Traits {
  /// A mirror shows the format's files as files and not as directories, because
  /// common programs open them.
  bool stays_file = false;
  /// Opening a container may open files beside it that it names.
  bool opens_neighbours = false;
  /// A file of the format has a single item, such as an array. If it is in a
  /// container, it is not shown as a directory: an archive may have thousands
  /// of arrays, and its views show them.
  bool leaf = false;
  /// Some entries of a container may have a checksum and others none. If not
  /// set, either all have one or none has.
  bool optional_checksums = false;
  /// A file of the format that is compressed by zstd belongs to the format:
  /// `resembles` accepts it and `open` reads it.
  bool zstd_is_own = false;
  /// Opening a container reads its last bytes: for a file with one of the
  /// format's extensions, a server's first and last bytes are fetched together.
  bool index_at_end = false;
};

/// A container format. To add one, write a folder core/formats/NAME with a file
/// that ends in `extern const Format kName{...};`, and name kName in
/// core/formats/registry.cc (docs/adding-a-format.md).
struct Format {
  std::string_view name;

  /// A short description of its contents, for people.
  std::string_view contents;

  /// Extensions of its files, without dots, separated by blanks: "sjgn sjgz".
  /// They show which entries may be nested containers, and which files claim to
  /// be containers (ClaimOf); formats are recognised by their content.
  std::string_view extensions;

  /// The part of `extensions` that text files use, too: Python's path
  /// configuration files end in .pth.
  std::string_view text_extensions = {};

  /// The folders of golden/ with its containers, and the pages of docs/ that
  /// describe it, separated by blanks.
  std::string_view golden = {};
  std::string_view docs = {};

  /// Whether a container starts with `head` (limits::kProbeBytes, or all of a
  /// shorter file). Cannot fail; `open` reports damage.
  bool (*probe)(Bytes head);

  Result<std::shared_ptr<const Container>> (*open)(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context);

  /// Whether to try `open` on a file that starts with `head`, that no probe
  /// recognises, and that the user or metadata calls a container. True for a
  /// compressed container, and for a file of a related format: there, `open`
  /// fails with kNotContainer and names that format. Null: never.
  bool (*resembles)(Bytes head) = nullptr;

  /// Like resembles, for files that are identified by bytes past the head.
  /// Null: never.
  bool (*resembles_source)(const Source& source,
                           const Request& request) = nullptr;

  /// The suffix of its file names, if bytes alone do not identify its files: a
  /// file with this suffix is a container if `resembles` accepts it. Empty:
  /// names are ignored.
  std::string_view name_suffix = {};

  /// The name of a file that describes all files in its folder. A mirror shows
  /// the folder's container as FOLDER~dir. Empty: none.
  std::string_view folder_index = {};
  /// The suffix of the names of files that are parts of such a folder, and
  /// therefore no containers of their own. Empty: the format has no such parts.
  std::string_view folder_parts = {};

  /// Whether `directory` is a container of this format. Null: never.
  bool (*probe_directory)(const Source& directory,
                          const Request& request) = nullptr;

  /// Whether a directory that no probe recognises was probably meant to be such
  /// a container. Opening it fails with an error that names the missing part.
  bool (*resembles_directory)(const Source& directory,
                              const Request& request) = nullptr;

  /// The names of files, separated by blanks, of which one is at the root of an
  /// archive that is a container of this format: its members are then the files
  /// of a directory. Empty: none.
  std::string_view archive_files = {};

  Traits traits = {};

  /// Whether a directory may be a container of this format.
  bool reads_directories() const { return probe_directory != nullptr; }
};

/// All formats, as an interface for single formats, which do not include each
/// other.
class FormatSet {
 public:
  /// The format whose probe accepts a file that starts with `head`, or null.
  virtual const Format* Of(Bytes head) const = 0;

  /// The format whose container an archive is (Format::archive_files); null if
  /// there is none. `has_file` must return whether a file of that name is at
  /// the root of the archive.
  virtual const Format* OfArchive(
      const std::function<bool(std::string_view)>& has_file) const = 0;

  /// See OpenContainer.
  virtual Result<std::shared_ptr<const Container>> Open(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context) const = 0;

 protected:
  ~FormatSet() = default;
};

/// Every format, in the order of their probes.
std::span<const Format* const> Formats();

/// Reads the first limits::kProbeBytes of a file, or all of a shorter file.
Result<Buffer> ReadHead(const Source& source, const Request& request);

/// Whether a file that starts with `head` is a container, compressed or not.
bool IsContainer(Bytes head);
/// Whether a file that starts with `head` is a container that is not
/// compressed, of a format without Traits::stays_file: a mirror shows such a
/// container in place of the file.
bool IsContainerInPlaceOfFile(Bytes head);
/// Whether a file that starts with `head`, for which IsContainer is false, is a
/// container if IsContainerName is true for its name. Also true for a
/// compressed file of which `head` is too short to be decoded.
bool IsContainerIfNamed(Bytes head);
/// Whether `name` is that of a compressed container, such as "a.tar.gz", or
/// ends in the name_suffix of some format.
bool IsContainerName(std::string_view name);
/// The format whose folder_parts, which is not empty, is a suffix of `name`;
/// null if there is none.
const Format* FormatOfPart(std::string_view name);
/// The format that a directory is a container of; null if there is none. With
/// Traits::stays_file, a mirror shows the directory as it is, and the container
/// as NAME~dir.
const Format* FormatOfDirectory(const Source& directory,
                                const Request& request = Request());
bool IsContainerDirectory(const Source& directory,
                          const Request& request = Request());
/// Whether a directory was probably meant to be a container.
bool ResemblesContainer(const Source& directory,
                        const Request& request = Request());

/// The words of `list`, which are separated by blanks.
std::vector<std::string_view> WordsOf(std::string_view list);

/// Whether `name` ends in an extension of some format without Traits::leaf.
bool HasContainerExtension(std::string_view name);

/// Whether the name of a file is typical of containers that a mirror shows in
/// place of the file (IsContainerInPlaceOfFile).
bool MayReplaceFile(std::string_view name);

/// Whether the name of a file has an extension of a format with
/// Traits::index_at_end.
bool NamesIndexAtEnd(std::string_view name);

/// The kind of contents that a file's name implies.
enum class NameClaim : uint8_t {
  kNothing,
  kContainerOrText,  // an extension of Format::text_extensions
  kContainer,        // another extension of some format, or IsContainerName
};
/// Extensions are not case-sensitive.
NameClaim ClaimOf(std::string_view name);

/// Whether the name of an unrecognised file claims that it is a container. The
/// name of a text claims nothing if text files use its extension, too
/// (Format::text_extensions), unless the text is a web page or a pointer that
/// was saved in place of a container. `head` is that of RecogniseForeign
/// (foreign_formats.h).
bool ClaimsContainer(std::string_view name, Bytes head);

/// Opens `source` with the first format whose probe recognises it. Otherwise
/// opens the decoded bytes of a file that is compressed as a whole. Otherwise
/// tries the formats that the file resembles, until one does not fail with
/// kNotContainer. Fails with kNotContainer if there is no such format.
Result<std::shared_ptr<const Container>> OpenContainer(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context = LoneContext());

}  // namespace ctxfs
