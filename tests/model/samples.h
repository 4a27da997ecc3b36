// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/vfs/attributes.h"

namespace ctxfs::model {

/// A file or directory inside a container, as a mount must show it.
struct Shown {
  bool directory = false;
  uint64_t size = 0;
  /// Not set: the file cannot be read, because the container is damaged there.
  std::optional<std::string> bytes = std::nullopt;
  /// Not all of the file is damaged: a column of several chunks, one of which
  /// is.
  bool partly = false;
  /// Whether its size and bytes may differ from one open to the next.
  bool live = false;

  bool HasSize(const Attributes& got) const {
    return got.directory == directory && (live || got.size == size);
  }
};

/// Everything below a container's directory, by path; "" is the directory.
using ShownTree = std::map<std::string, Shown>;

/// The contents that a file of the source directory may have.
struct Sample {
  std::string name;        // for messages
  std::string bytes;       // the whole file
  bool container = false;  // that a mirror shows as a directory
  ShownTree tree = {};     // of a container
};

/// The contents that the model writes: containers built here, of which several
/// have the same size but other entries; plain files of the same sizes; golden
/// containers of all formats, damaged ones among them; and cut copies. What a
/// mount must show of a container is taken from a fresh namespace over the
/// bytes in memory. Immutable after the constructor.
class Samples {
 public:
  /// `folder` is an empty directory. Golden containers that name other files
  /// look different there and in memory; they are left out.
  explicit Samples(const std::string& folder);

  size_t count() const { return samples_.size(); }
  const Sample& at(size_t sample) const { return samples_[sample]; }
  /// All samples of the same length in bytes, `sample` included.
  const std::vector<size_t>& SameSize(size_t sample) const {
    return by_size_.at(samples_[sample].bytes.size());
  }
  /// The sample that a file of `sample` becomes when it is truncated.
  std::optional<size_t> Cut(size_t sample) const;
  size_t container_count() const { return containers_; }

 private:
  void AddBuilt();
  void AddPlain();
  void AddGolden(const std::string& folder);
  void AddCuts();
  void Add(std::string name, std::string bytes);

  std::vector<Sample> samples_;
  std::map<uint64_t, std::vector<size_t>> by_size_;
  std::map<size_t, size_t> cuts_;
  size_t containers_ = 0;
};

}  // namespace ctxfs::model
