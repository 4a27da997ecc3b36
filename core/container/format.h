// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/secret.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

struct OpenOptions {
  bool verify = true;    // false: checksums are not looked at
  bool salvage = false;  // structural faults become faults of entries
  bool alone = false;    // opens no file that the container names
  /// What encrypted entries are read with; none: they are listed, not opened.
  std::shared_ptr<const MasterKey> key = nullptr;
  /// For everyone: of the files that the container names, those are opened that
  /// all its readers may read.
  Audience audience = Audience::kMounter;
  /// See SourceOptions.
  bool watch_ctime = false;

  SourceOptions source_options() const { return {audience, watch_ctime}; }
};

/// A container format. To add one, write a folder core/formats/NAME with a file
/// that ends in `extern const Format kName{...};`, and name kName in
/// core/formats/registry.cc.
struct Format {
  std::string_view name;

  /// What its containers hold, in a few words for people.
  std::string_view contents;

  /// Extensions of its files, without dots, separated by blanks: "sjgn sjgz".
  /// An entry that has one of them may be a container itself; formats are
  /// recognised by content alone.
  std::string_view extensions;

  /// Whether a container starts with `head` (limits::kProbeBytes, or all of a
  /// shorter file). Cannot fail; what is damaged further on is Open's to say.
  bool (*probe)(Bytes head);

  Result<std::shared_ptr<const Container>> (*open)(
      std::shared_ptr<const Source> source, const OpenOptions& options,
      const ReadContext& context);

  /// Whether what starts with `head`, and no probe recognises, is worth opening
  /// when someone says that it is a container: a packed one, or a relative that
  /// `open` refuses by its name, with kNotContainer. Null: never.
  bool (*resembles)(Bytes head) = nullptr;

  /// Whether a file that no probe recognises, and that someone says is a
  /// container, is such a container by bytes other than its first. Null: none.
  bool (*resembles_source)(const Source& source) = nullptr;

  /// What the names of its files end in, if no bytes of theirs tell them from
  /// others: a file of such a name that `resembles` a container is one. Empty:
  /// names say nothing.
  std::string_view name_suffix = {};

  /// The name of such a container that makes one of all files in its folder. In
  /// a mirrored directory FOLDER~dir is that container. Empty: there is none.
  std::string_view folder_index = {};

  /// Whether `directory` is such a container. Null: no directory is.
  bool (*probe_directory)(const Source& directory) = nullptr;

  /// Whether a directory that no probe recognises was meant to be such a
  /// container, so that someone who names it is better told what it lacks.
  bool (*resembles_directory)(const Source& directory) = nullptr;

  /// Whether common programs open its files themselves (safetensors, GGUF): in
  /// a mirrored directory such a file stays a file.
  bool stays_file = false;
};

/// Every format, in the order they are asked.
std::span<const Format* const> Formats();

/// Whether a file that starts with `head` is a container; whether a directory
/// is one.
bool IsContainer(Bytes head);
/// The same, of a format whose container takes the place of the file in a
/// mirrored directory.
bool IsContainerInPlaceOfFile(Bytes head);
/// Whether a file that starts with `head` is a container if it is called as
/// those of some format are; and whether `name` is such a name.
bool IsContainerIfNamed(Bytes head);
bool IsContainerName(std::string_view name);
bool IsContainerDirectory(const Source& directory);
bool ResemblesContainer(const Source& directory);

/// Whether `name` ends in an extension of some format.
bool HasContainerExtension(std::string_view name);

/// Opens `source` with the first format that recognises it, or that it
/// resembles; kNotContainer when none does.
Result<std::shared_ptr<const Container>> OpenContainer(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context = LoneContext());

}  // namespace ctxfs
