// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/ollama_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/tree/free_names.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxManifestBytes = 4 << 20;
constexpr size_t kMaxLayers = 10'000;
constexpr size_t kMaxManifestsKept = 256;
constexpr size_t kBlobDigits = 64;
constexpr std::string_view kManifests = "manifests";
constexpr std::string_view kBlobName = "sha256-";
constexpr std::string_view kMediaType = "application/vnd.ollama.image.";
/// The parts of a name that ollama omits.
constexpr std::string_view kOwnRegistry = "registry.ollama.ai";
constexpr std::string_view kLibrary = "library";

/// The path of a model's manifest: registry, namespace, model and tag. For a
/// directory above it, only the first of these.
using ModelParts = std::vector<std::string>;

std::string ManifestPath(const ModelParts& parts) {
  std::string path(kManifests);
  for (const std::string& part : parts) path += "/" + part;
  return path;
}

/// The parts of a path [[REGISTRY/]NAMESPACE/]MODEL:TAG[/FILE]. Parts that the
/// path omits are added to `parts`; `file` is empty without a FILE.
struct Name {
  ModelParts parts;
  std::string file;
};

std::optional<Name> ModelOf(std::string_view path) {
  const std::vector<std::string_view> components = ComponentsOf(path);
  Name name;
  for (size_t i = 0; i < components.size() && i < 3; ++i) {
    const std::string_view one = components[i];
    // The name of a registry may have a colon, too, before a port.
    const size_t colon = one.rfind(':');
    const bool last = colon != std::string_view::npos && colon > 0 &&
                      (i > 0 || components.size() <= 2);
    if (!last) {
      name.parts.emplace_back(one);
      continue;
    }
    if (name.parts.empty()) name.parts.emplace_back(kLibrary);
    if (name.parts.size() == 1) {
      name.parts.emplace(name.parts.begin(), kOwnRegistry);
    }
    name.parts.emplace_back(one.substr(0, colon));
    name.parts.emplace_back(one.substr(colon + 1));
    if (components.size() > i + 2) return std::nullopt;
    if (components.size() == i + 2) name.file = components[i + 1];
    return name;
  }
  return std::nullopt;
}

/// Like ModelOf; nullopt if the model has no manifest, because a registry name
/// may contain a colon, too.
Maybe<Name> FindModel(const Directory& raw, const std::string& path,
                      const Request& request) {
  std::optional<Name> name = ModelOf(path);
  if (!name) return name;
  const auto manifest = CTXFS_TRY(raw.Find(ManifestPath(name->parts), request));
  if (!manifest || manifest->directory) return std::optional<Name>();
  return name;
}

/// blobs/sha256-HEX for "sha256:HEX"; empty for anything else.
std::string BlobPath(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  if (!digest.starts_with(kPrefix)) return "";
  digest.remove_prefix(kPrefix.size());
  if (digest.size() != kBlobDigits ||
      digest.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return "";
  }
  return fmt::format("blobs/{}{}", kBlobName, digest);
}

/// The name of a layer: "model.gguf", "template", "params".
std::string LayerName(const Json& layer) {
  std::string type = TextAt(layer, "mediaType");
  if (!type.starts_with(kMediaType)) return "layer";
  type.erase(0, kMediaType.size());
  for (const char* const weights : {"model", "adapter", "projector"}) {
    if (type == weights) return type + ".gguf";
  }
  return SafeComponent(type);
}

Result<std::vector<std::pair<std::string, std::string>>> ReadManifest(
    const std::string& path, std::string_view text, const Request& request) {
  const auto unfit = [&path](const std::string& why) {
    return Error{Code::kCorrupt, Quote(path) + ": " + why};
  };
  const Result<ParsedJson> json = ParseJson(text, request);
  if (!json) return unfit(json.error().Text());
  const Json* const layers = MemberAt(json->value, "layers");
  if (layers == nullptr || !layers->is_array()) return unfit("has no layers");
  if (layers->size() > kMaxLayers) {
    return Error{Code::kLimit,
                 fmt::format("{}: {} layers, at most {}", Quote(path),
                             layers->size(), kMaxLayers)};
  }
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("manifest.json", path);
  std::set<std::string> taken = {"manifest.json"};
  FreeNames free;
  const auto add = [&](const std::string& name, const std::string& digest) {
    std::string blob = BlobPath(digest);
    if (blob.empty()) return false;
    std::string own = free.Find({.name = name}, [&](const std::string& one) {
      return !taken.insert(one).second;
    });
    files.emplace_back(std::move(own), std::move(blob));
    return true;
  };
  for (const Json& layer : *layers) {
    const std::string digest = TextAt(layer, "digest");
    if (!add(LayerName(layer), digest)) {
      return unfit("the digest " + Quote(digest) +
                   " is not sha256 and 64 digits");
    }
  }
  if (const Json* const config = MemberAt(json->value, "config")) {
    (void)add("config.json", TextAt(*config, "digest"));
  }
  return files;
}

/// Calls `visit` with each name in the directory `parts`, preceded by `above`:
/// MODEL:TAG for each model in a namespace, else the name of a registry or
/// namespace. Instead of a name that ollama omits, visits the names below it.
Status ListShort(const Directory& raw, const ModelParts& parts,
                 const std::string& above, const CacheNames::Visit& visit,
                 const Request& request) {
  const CacheNames::Place directory{CacheNames::Place::Kind::kDirectory};
  for (const std::string& name :
       CTXFS_TRY(NamesIn(raw, ManifestPath(parts), request))) {
    ModelParts below = parts;
    below.push_back(name);
    if (parts.size() == 2) {
      for (const std::string& tag :
           CTXFS_TRY(NamesIn(raw, ManifestPath(below), request))) {
        CTXFS_TRY(visit(above + name + ":" + tag, directory));
      }
      continue;
    }
    const bool unnamed =
        name == (parts.empty() ? kOwnRegistry : kLibrary) && above.empty();
    if (unnamed) {
      CTXFS_TRY(ListShort(raw, below, above, visit, request));
    } else {
      CTXFS_TRY(visit(above + name, directory));
    }
  }
  return {};
}

/// The parts of a directory above models; nullopt if it does not exist.
Maybe<ModelParts> PartsAbove(const Directory& raw, const std::string& path,
                             const Request& request) {
  ModelParts parts;
  for (const std::string_view one : ComponentsOf(path)) {
    parts.emplace_back(one);
  }
  if (parts.size() > 2) return std::optional<ModelParts>();
  std::vector<ModelParts> candidates = {parts};
  if (parts.size() == 1) {
    candidates.push_back({std::string(kOwnRegistry), parts.front()});
  }
  for (ModelParts& candidate : candidates) {
    const auto found = CTXFS_TRY(raw.Find(ManifestPath(candidate), request));
    if (found && found->directory) return std::optional(std::move(candidate));
  }
  return std::optional<ModelParts>();
}

}  // namespace

bool OllamaNames::Recognise(const Directory& raw) {
  const Maybe<Directory::Item> manifests =
      raw.Find(std::string(kManifests), Request());
  if (!manifests || !*manifests || !(*manifests)->directory) return false;
  return AnyName(
      raw, "blobs",
      [](const std::string& name) {
        return name.starts_with(kBlobName) &&
               name.size() == kBlobName.size() + kBlobDigits;
      },
      Request());
}

Result<OllamaNames::FilesPtr> OllamaNames::FilesOf(
    const Directory& raw, const std::string& path,
    const Request& request) const {
  const std::optional<Directory::Item> found =
      CTXFS_TRY(raw.Find(path, request));
  if (!found || found->directory) return FilesPtr();
  {
    const MutexLock lock(mutex_);
    const auto known = kept_.find(path);
    if (known != kept_.end() && known->second.identity == found->identity) {
      return known->second.files;
    }
  }
  const std::optional<std::string> text =
      CTXFS_TRY(SmallFile(raw, path, kMaxManifestBytes, request));
  if (!text) return FilesPtr();
  auto files = std::make_shared<const Files>(
      CTXFS_TRY(ReadManifest(path, *text, request)));
  const MutexLock lock(mutex_);
  if (kept_.size() >= kMaxManifestsKept) kept_.clear();
  kept_[path] = {found->identity, files};
  return FilesPtr(files);
}

Result<CacheNames::Place> OllamaNames::Find(const Directory& raw,
                                            const std::string& path,
                                            const Request& request) const {
  const std::optional<Name> name = CTXFS_TRY(FindModel(raw, path, request));
  if (name && name->file.empty()) return Place{Place::Kind::kDirectory};
  if (name) {
    const FilesPtr files =
        CTXFS_TRY(FilesOf(raw, ManifestPath(name->parts), request));
    if (files == nullptr) return Place{};
    for (const auto& [own, raw_path] : *files) {
      if (own == name->file) return Place{Place::Kind::kRaw, raw_path};
    }
    return Place{};
  }
  const std::optional<ModelParts> above =
      CTXFS_TRY(PartsAbove(raw, path, request));
  return Place{above ? Place::Kind::kDirectory : Place::Kind::kNothing};
}

Status OllamaNames::List(const Directory& raw, const std::string& path,
                         const Visit& visit, const Request& request) const {
  if (path.empty()) return ListShort(raw, {}, "", visit, request);
  if (const auto name = CTXFS_TRY(FindModel(raw, path, request))) {
    const FilesPtr files =
        CTXFS_TRY(FilesOf(raw, ManifestPath(name->parts), request));
    if (files == nullptr) return {};
    for (const auto& [own, raw_path] : *files) {
      CTXFS_TRY(visit(own, {Place::Kind::kRaw, raw_path}));
    }
    return {};
  }
  const std::optional<ModelParts> above =
      CTXFS_TRY(PartsAbove(raw, path, request));
  if (!above) return {};
  return ListShort(
      raw, *above, path + "/",
      [&path, &visit](std::string_view name, const Place& place) {
        return visit(name.substr(path.size() + 1), place);
      },
      request);
}

bool OllamaNames::Hides(std::string_view name) const {
  return name == kManifests || name == "blobs";
}

std::optional<std::string> OllamaNames::WatchedFor(
    const std::string& /*path*/) const {
  return std::nullopt;
}

std::string OllamaNames::ChangedName(const std::string& /*path*/,
                                     const std::string& /*name*/) const {
  return "";
}

}  // namespace ctxfs
