// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of torch.save and archives of torch.jit.save
// (docs/formats/torch.md): a ZIP archive. torch writes all members into one
// folder, here TOP.
//
//   TOP/data.pkl        the object, a pickle
//   TOP/data/KEY        the bytes of a storage
//   TOP/byteorder       "little" or "big"
//   TOP/version         a number
//   TOP/constants.pkl, constants/KEY, code/   of TorchScript
#include "core/formats/torch/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/container/facts/model_files.h"
#include "core/container/open.h"
#include "core/formats/torch/limits.h"
#include "core/formats/zip/coverage.h"

namespace ctxfs::torch {
namespace {

constexpr std::string_view kPickleName = "data.pkl";
constexpr std::string_view kConstantsName = "constants.pkl";
constexpr uint64_t kHighestVersion = 10;

/// Returns "archive/" for "archive/data.pkl"; empty without a folder.
std::string_view FolderOf(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos || slash == 0
             ? std::string_view()
             : name.substr(0, slash + 1);
}

/// Parses a number that only white space may follow.
std::optional<uint64_t> ParseNumber(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return WholeNumber<uint64_t>(text);
}

/// Returns the limit of a pickle's bytes in a record of `stored` bytes.
uint64_t MostPickleBytes(uint64_t stored) {
  return kMaxInflated + std::min(stored, kMaxPickleBytes) * kMaxInflatedPerByte;
}

bool Probe(Bytes head) {
  if (StartsLegacy(head)) return true;
  if (!zip::StartsWithMember(head)) return false;
  // The first member must be in a folder, as far as `head` shows its name.
  constexpr size_t kNameLengthAt = 26;
  constexpr size_t kNameAt = 30;
  if (head.size() <= kNameAt) return false;
  const size_t length = LoadLe<uint16_t>(head.data() + kNameLengthAt);
  const std::string_view name = AsText(head.subspan(kNameAt));
  return name.substr(0, length).find('/') != std::string_view::npos ||
         length > name.size();
}

/// Whether an archive is a checkpoint (section 1).
bool IsCheckpoint(const zip::Directory& directory) {
  if (directory.members.empty()) return false;
  const std::string_view folder =
      FolderOf(directory.ShownName(directory.members[0]));
  const std::string pickle = std::string(folder).append(kPickleName);
  return !folder.empty() &&
         std::ranges::any_of(directory.members, [&](const zip::Member& member) {
           return directory.ShownName(member) == pickle;
         });
}

Result<std::shared_ptr<const zip::Archive>> MakeArchive(
    SourcePtr source, zip::Directory directory, const OpenOptions& options) {
  CTXFS_TRY(
      HeapAllowance::Admit(directory.members.size() * sizeof(AtomicVerdict)));
  return std::make_shared<const zip::Archive>(
      std::move(source), std::move(directory),
      zip::Archive::Options{.verify = options.verify,
                            .zero_is_no_checksum = true});
}

/// Opens a checkpoint, or any other archive as the ZIP format does.
Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  const Buffer head = CTXFS_TRY(ReadHead(*source, context));
  if (StartsLegacy(head.span())) {
    return LoadContainer<Checkpoint>(context, std::move(source), nullptr,
                                     options);
  }
  zip::Directory directory =
      CTXFS_TRY(zip::OpenDirectory(*source, options, context));
  if (!IsCheckpoint(directory)) {
    return zip::MakeZipContainer(std::move(source), std::move(directory),
                                 options, context);
  }
  auto archive = CTXFS_TRY(MakeArchive(source, std::move(directory), options));
  return LoadContainer<Checkpoint>(context, std::move(source),
                                   std::move(archive), options);
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::OpenArchive(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  OpenOptions alone = options;
  alone.alone = true;
  alone.salvage = false;
  const Buffer head = CTXFS_TRY(ReadHead(*source, context));
  const Error none{Code::kNotContainer, "it is no archive of torch.save"};
  if (!zip::StartsWithMember(head.span())) return none;
  zip::Directory directory =
      CTXFS_TRY(zip::OpenDirectory(*source, alone, context));
  if (!IsCheckpoint(directory)) return none;
  auto archive = CTXFS_TRY(MakeArchive(source, std::move(directory), alone));
  auto checkpoint = std::make_shared<Checkpoint>(std::move(source),
                                                 std::move(archive), alone);
  CTXFS_TRY(checkpoint->Load(context));
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Status Checkpoint::Load(const ReadContext& context) {
  CTXFS_TRY(archive_ == nullptr ? LoadLegacy(context) : LoadArchive(context));
  if (!options_.alone && !tensors_.empty()) {
    documents_ = FindModelFiles(*source(), context);
  }
  return MakeDocuments(context);
}

Status Checkpoint::LoadArchive(const ReadContext& context) {
  CTXFS_TRY(HeapAllowance::Admit(archive_->directory().WarningBytes()));
  WarnAll(archive_->directory().warnings);
  CTXFS_TRY(FindTop(context));
  CTXFS_TRY(ReadVersion(context));
  CTXFS_TRY(ReadByteOrder(context));
  WarnOfMissingChecksums();
  CTXFS_TRY(ListGlobals(context));
  CTXFS_TRY(ReadPickleRecord(kValue, "data/", context));
  script_ = Record(kConstantsName).has_value();
  if (script_ && pickles_[kValue].content) {
    CTXFS_TRY(ReadPickleRecord(kConstants, "constants/", context));
  }
  NeedRecords();
  return {};
}

void Checkpoint::NeedRecords() {
  const zip::Directory& directory = archive_->directory();
  if (directory.needed == 0) return;
  const uint64_t records =
      CheckedAdd(directory.members_end, missing_bytes_).value_or(UINT64_MAX);
  NeedMore(std::max(directory.needed, records), directory.lost);
}

std::vector<Error> Checkpoint::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = Faults();
  if (archive_ == nullptr) return faults;
  for (Error& gap : zip::FindGaps(*source(), archive_->directory(), context)) {
    faults.push_back(std::move(gap));
  }
  return faults;
}

Status Checkpoint::FindTop(const ReadContext& context) {
  constexpr uint32_t kMembersPerCheck = 4096;
  top_ = FolderOf(archive_->Name(0));
  for (uint32_t i = 0; i < archive_->count(); ++i) {
    if (i % kMembersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    std::string_view name = archive_->Name(i);
    if (!name.starts_with(top_)) {
      all_in_top_ = false;
      continue;
    }
    if (archive_->member(i).kind != zip::Kind::kFile) continue;
    name.remove_prefix(top_.size());
    if (!records_.emplace(name, i).second) repeated_.insert(name);
  }
  return {};
}

std::optional<uint32_t> Checkpoint::Record(std::string_view name) const {
  const auto found = records_.find(name);
  if (found == records_.end() || repeated_.contains(name)) return std::nullopt;
  return found->second;
}

Result<std::string> Checkpoint::ReadRecord(uint32_t member,
                                           const ReadContext& context) {
  if (archive_->Size(member) > kMaxRecordText) {
    return Error{Code::kLimit, "a record is too long"};
  }
  const Content content = CTXFS_TRY(archive_->Open(member, context));
  return ReadAll(content, context);
}

Status Checkpoint::ReadVersion(const ReadContext& context) {
  const std::optional<uint32_t> member = Record("version");
  if (!member) {
    Warn({"no_version: there is no record of the format's version"});
    return {};
  }
  const Result<std::string> text = ReadRecord(*member, context);
  if (!text && !text.error().Permanent()) return text.error();
  if (text) version_ = ParseNumber(*text);
  if (version_ && *version_ >= 1 && *version_ <= kHighestVersion) return {};
  return Error{Code::kVersion,
               "version: " + (text ? Quote(*text) : text.error().what) +
                   " is not 1 to 10",
               archive_->member(*member).header};
}

Status Checkpoint::ReadByteOrder(const ReadContext& context) {
  const std::optional<uint32_t> member = Record("byteorder");
  if (!member) return {};  // older files without it are little-endian
  const Result<std::string> text = ReadRecord(*member, context);
  if (!text && !text.error().Permanent()) return text.error();
  if (text && (*text == "little" || *text == "big")) {
    big_endian_ = *text == "big";
    return {};
  }
  return Error{Code::kCorrupt,
               "byteorder: " + (text ? Quote(*text) : text.error().what) +
                   " is neither 'little' nor 'big'",
               archive_->member(*member).header};
}

void Checkpoint::WarnOfMissingChecksums() {
  uint64_t missing = 0;
  for (uint32_t i = 0; i < archive_->count(); ++i) {
    const zip::Member& member = archive_->member(i);
    if (member.crc == 0 && member.size > 0) ++missing;
  }
  if (missing == 0) return;
  Warn(
      {fmt::format("no_crc: {} records were written without a checksum and "
                   "cannot be verified",
                   missing)});
}

Status Checkpoint::ReadPickleRecord(Which which, const std::string& storages,
                                    const ReadContext& context) {
  const std::string_view name = which == kValue ? kPickleName : kConstantsName;
  const std::optional<uint32_t> member = Record(name);
  if (!member) {
    Warn({"pickle: there is more than one " + std::string(name), kNoOffset,
          Severity::kDamage});
    return {};
  }
  const auto refuse = [&](const Error& error) -> Status {
    if (!error.Permanent()) return error;
    const char* key =
        error.code == Code::kChecksum ? "pickle_crc: " : "pickle: ";
    // The error of a value that is too deep already starts with a key.
    const bool keyed = error.what.starts_with("pickle_");
    Warn({(keyed ? "" : key) + std::string(name) + ": " + error.what,
          archive_->member(*member).header, Severity::kDamage});
    return {};
  };
  const Result<Content> content = archive_->Open(*member, context);
  if (!content) return refuse(content.error());
  if (const uint64_t most =
          MostPickleBytes(archive_->member(*member).stored_size);
      content->size() > most) {
    return refuse(OverLimit(
        fmt::format("compressed, and its {} bytes are", content->size()),
        most));
  }
  if (Status verified = content->Verify(context); !verified) {
    return refuse(verified.error());
  }
  uint64_t end = 0;
  Result<Pickle> pickle = ReadPickle(*content, 0, context, end);
  if (!pickle) {
    Error error = pickle.error();
    if (error.offset != kNoOffset) {
      // The warning's offset is that of the record, so its text has the offset
      // within the record.
      error.what += fmt::format(", at byte {} of it", error.offset);
    }
    return refuse(error);
  }
  Status added = AddPickle(which, *pickle, which == kValue ? "" : "constants/",
                           storages, context);
  if (!added) {
    if (too_many_) return added;
    return refuse(added.error());
  }
  pickles_[which].content = *content;
  pickles_[which].parsed = *std::move(pickle);
  return {};
}

Status Checkpoint::AddPickle(Which which, const Pickle& pickle,
                             const std::string& prefix,
                             const std::string& storages,
                             const ReadContext& context) {
  std::vector<FoundTensor> found;
  Status walked = FindTensors(pickle, prefix, context, found);
  const size_t count = tensors_.size() + found.size();
  // A walk that has found as many tensors as are allowed fails at the next
  // tensor.
  too_many_ = count > kMaxTensors || (!walked && count == kMaxTensors);
  if (!walked && !too_many_) return walked;
  pickles_[which].first_tensor = tensors_.size();
  if (too_many_) {
    return Error{Code::kLimit,
                 fmt::format("more than {} tensors", kMaxTensors)};
  }
  return AddFound(pickle, std::move(found), storages, context);
}

Status Checkpoint::AddFound(const Pickle& pickle,
                            std::vector<FoundTensor> found,
                            const std::string& storages,
                            const ReadContext& context) {
  constexpr size_t kTensorsPerCheck = 1024;
  SharedParts parts;
  std::map<std::pair<NodeId, bool>, std::shared_ptr<const Layout>> layouts;
  CTXFS_TRY(AdmitGrowth(tensors_, found.size()));
  tensors_.reserve(tensors_.size() + found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (i % kTensorsPerCheck == 0) {
      CTXFS_TRY(context.Check());
      CTXFS_TRY(AdmitGrowth(storages_, kTensorsPerCheck));
    }
    const TensorCall call = found[i].tensor;
    std::shared_ptr<const Layout>& layout = layouts[{call.args, call.v3}];
    if (layout == nullptr) {
      const std::optional<TensorId> id = TensorOf(pickle, call);
      if (!id) return Error{Code::kCorrupt, "a tensor is not in the pickle"};
      layout = std::make_shared<const Layout>(Resolve(*id, storages, parts));
    }
    tensors_.push_back({std::move(found[i].name), Charge(layout, parts)});
  }
  WarnOfFaults();
  return {};
}

void Checkpoint::WarnOfFaults() {
  uint64_t too_large = 0;
  uint64_t unreadable = 0;
  uint64_t over_limit = 0;
  for (const Tensor& tensor : tensors_) {
    const auto& fault = tensor.layout->fault;
    if (fault == nullptr) continue;
    if (tensor.layout->over_limit) {
      ++over_limit;
      continue;
    }
    ++unreadable;
    if (fault->starts_with("too_large")) ++too_large;
  }
  if (too_large > 0) {
    Warn({fmt::format(
        "too_large: {} tensors are larger than their storages and than 1 GiB",
        too_large)});
  }
  if (over_limit > 0) {
    Warn(
        {fmt::format("repeated: {} tensors are not readable, because tensors "
                     "show bytes of storages again, and more than {} of them",
                     over_limit, MostRepeated())});
  }
  if (unreadable > 0) {
    Warn({fmt::format("unreadable: {} tensors do not lie in their storages",
                      unreadable),
          kNoOffset, Severity::kDamage});
  }
}

Status Checkpoint::MakeDocuments(const ReadContext& context) {
  for (const Which which : {kValue, kConstants}) {
    PickleFile& file = pickles_[which];
    if (!file.content) continue;
    Result<std::string> text = TextWithNames(file, context);
    file.parsed.reset();
    if (text) {
      file.shown = true;
      if (text->size() <= kMaxKeptText) {
        file.text = std::make_shared<const std::string>(std::move(*text));
      }
    } else if (text.error().Permanent()) {
      Warn({text.error().what});
    } else {
      return std::move(text).error();
    }
  }
  return {};
}

Result<std::string> Checkpoint::TextWithNames(
    const PickleFile& file, const ReadContext& context) const {
  const auto name =
      [this, first = file.first_tensor](size_t number) -> const std::string& {
    return tensors_[first + number].name;
  };
  if (file.parsed) return ValueText(*file.parsed, name, context);
  uint64_t end = 0;
  const Pickle pickle =
      CTXFS_TRY(ReadPickle(*file.content, file.offset, context, end));
  return ValueText(pickle, name, context);
}

Result<std::string> Checkpoint::ValueOf(const ReadContext& context) const {
  const PickleFile& file = pickles_[kValue];
  if (file.text != nullptr) return *file.text;
  if (!file.shown) {
    return Error{Code::kCorrupt, "there is no value that can be read"};
  }
  return TextWithNames(file, context);
}

Result<std::vector<std::string>> Checkpoint::ShownAt(
    const PathsInTree& paths) const {
  uint64_t bytes = tensors_.size() * sizeof(std::string);
  for (const Tensor& tensor : tensors_) bytes += tensor.name.size();
  CTXFS_TRY(HeapAllowance::Admit(bytes));
  std::vector<std::string> shown = paths.Of(0, count());
  for (std::string& path : shown) {
    // A tensor without a file has an empty path.
    path.erase(0, std::min(path.size(), path.find('/') + 1));
  }
  return shown;
}

Result<std::string> Checkpoint::DocumentText(Which which,
                                             const PathsInTree& paths,
                                             const ReadContext& context) const {
  const PickleFile& file = pickles_[which];
  const std::vector<std::string> shown = CTXFS_TRY(ShownAt(paths));
  const bool at_names =
      std::ranges::equal(shown, tensors_, {}, {}, &Tensor::name);
  if (file.text != nullptr && at_names) return *file.text;
  uint64_t end = 0;
  const Pickle pickle =
      CTXFS_TRY(ReadPickle(*file.content, file.offset, context, end));
  return ValueText(
      pickle,
      [&shown, first = file.first_tensor](size_t number) -> const std::string& {
        return shown[first + number];
      },
      context);
}

}  // namespace ctxfs::torch

namespace ctxfs {

extern const Format kTorch{
    .name = "torch",
    .contents = "PyTorch checkpoints and TorchScript",
    .extensions = "pt pth ckpt",
    .text_extensions = "pt pth ckpt",
    .golden = "torch",
    .docs = "torch",
    .probe = &torch::Probe,
    .open = &torch::Open,
    .traits = {.stays_file = true, .index_at_end = true}};

}  // namespace ctxfs
