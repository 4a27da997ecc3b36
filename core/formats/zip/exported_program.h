// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json/json.h"
#include "core/container/exports.h"
#include "core/container/facts/facts.h"
#include "core/content/read_context.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {

/// The tensors of a program saved by torch.export, a .pt2 file
/// (docs/formats/zip.md, section 16). The names of members have numbers only;
/// documents map the tensors' names to members.
class ExportedProgram : public std::enable_shared_from_this<ExportedProgram> {
 public:
  /// Recognises a program by the names of members; null for another archive.
  static std::shared_ptr<const ExportedProgram> Find(
      std::shared_ptr<const Archive> archive);

  /// Returns tensors whose document and member agree. Reads the documents;
  /// returns none after a transient error.
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const;

  Status AddFacts(const ReadContext& context, Facts& facts) const;

 private:
  /// MODEL_weights_config.json or MODEL_constants_config.json, and its members'
  /// directory.
  struct Document {
    uint32_t member;
    std::string directory;  // ends in a slash
    std::string model;
  };
  /// A tensor that a document names.
  struct Named {
    ArrayInfo array;
    bool is_parameter = false;
  };

  /// Members below top_, by their path in it.
  using Members = std::unordered_map<std::string_view, uint32_t>;

  explicit ExportedProgram(std::shared_ptr<const Archive> archive)
      : archive_(std::move(archive)) {}

  bool FindDocuments();
  /// Adds the documents of "weights" or "constants".
  void AddDocuments(std::string_view kind);
  /// Returns the tensors of the documents. Fails only on transient errors.
  Result<std::vector<Named>> Tensors(const ReadContext& context) const;
  Result<Members> BelowTop(const ReadContext& context) const;
  /// Adds the tensors of a document; subtracts its bytes from `room`. Ignores a
  /// document of more than `room` bytes.
  Status AddTensors(const Document& document, const Members& members,
                    const ReadContext& context, uint64_t& room,
                    std::vector<Named>& tensors) const;
  Result<bool> IsBigEndian(const Members& members,
                           const ReadContext& context) const;
  /// Returns the array that `described` describes; nullopt if the description
  /// is wrong or disagrees with its member.
  std::optional<ArrayInfo> ArrayOf(const std::string& directory,
                                   const Json& described,
                                   const Members& members,
                                   bool big_endian) const;

  const std::shared_ptr<const Archive> archive_;
  const uint64_t owner_ = NewOwner();
  std::vector<Document> documents_;
  std::string top_;
  bool several_ = false;  // several models: names start with the model's name
};

}  // namespace ctxfs::zip
