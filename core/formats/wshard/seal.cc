// SPDX-License-Identifier: Apache-2.0
//
// Implements the seal of an episode (docs/formats/wshard.md, section 7):
// meta/identity has the sha256 of the decoded bytes of every other entry; the
// sha256 of meta/identity is the episode's identity. meta/provenance has the
// identity of the preceding chunk.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/codec/crypto/digest.h"
#include "core/content/sha256_of.h"
#include "core/formats/wshard/wshard.h"

namespace ctxfs::wshard {

Result<std::optional<std::string>> WShardContainer::Identity(
    const ReadContext& context) const {
  if (!known_.identity) return std::optional<std::string>();
  const std::string text =
      CTXFS_TRY(ReadMetaEntry(*this, *known_.identity, context));
  Sha256 digest;
  digest.Update(AsBytes(text));
  return std::optional<std::string>(digest.Hex());
}

Result<std::string> WShardContainer::SealedIdentity(
    const ReadContext& context) const {
  if (!known_.identity) {
    return Error{Code::kNotFound, "there is no meta/identity"};
  }
  const std::string text =
      CTXFS_TRY(ReadMetaEntry(*this, *known_.identity, context));
  const Result<ParsedJson> parsed = ParseJson(text, context);
  // JsonLine sorts keys and writes no blanks, as canonical JSON requires.
  if (!parsed || JsonLine(parsed->value) != text) {
    return Error{Code::kCorrupt, "meta/identity is not canonical JSON",
                 Describe(*known_.identity, context).offset};
  }
  Sha256 digest;
  digest.Update(AsBytes(text));
  return digest.Hex();
}

Result<std::string> WShardContainer::PreviousIdentity(
    const ReadContext& context) const {
  if (!known_.provenance) return std::string();
  const Json provenance =
      CTXFS_TRY(ReadEntryJson(*this, *known_.provenance, context));
  return LowerHex(TextAt(provenance, "prev_identity"));
}

std::vector<Error> WShardContainer::Inspect(const ReadContext& context) const {
  std::vector<Error> faults = shard::ShardContainer::Inspect(context);
  if (!known_.identity) return faults;
  const uint64_t at = Describe(*known_.identity, context).offset;
  const Result<Json> identity = ReadEntryJson(*this, *known_.identity, context);
  if (!identity) {
    const Error& error = identity.error();
    faults.push_back(
        error.code == Code::kCorrupt ? Within("meta/identity", error) : error);
    return faults;
  }
  const Json* listed = MemberAt(*identity, "entries");
  if (listed == nullptr || !listed->is_object() ||
      TextAt(*identity, "leaf") != "sha256") {
    faults.push_back(
        {Code::kCorrupt, "meta/identity lists no sha256 of entries", at});
    return faults;
  }
  std::ranges::move(CompareWithSeal(*listed, context),
                    std::back_inserter(faults));
  return faults;
}

std::vector<Error> WShardContainer::CompareWithSeal(
    const Json& listed, const ReadContext& context) const {
  const uint64_t at = Describe(*known_.identity, context).offset;
  std::set<std::string> there;
  std::map<std::string, Error> differences;
  for (uint32_t entry = 0; entry < entry_count() && context.Check(); ++entry) {
    const std::string name(EntryName(entry).value_or(""));
    if (entry == *known_.identity || !there.insert(name).second) continue;
    const auto hash = listed.find(name);
    if (hash == listed.end() || !hash->is_string()) {
      differences.try_emplace(
          name, Error{Code::kCorrupt,
                      "entry " + Quote(name) + " is not in meta/identity", at});
      continue;
    }
    const Result<Content> content = OpenEntry(entry, context);
    if (!content) continue;  // checking the entry itself reports this
    const Result<std::string> digest = Sha256Of(*content, context);
    if (!digest || *digest == LowerHex(hash->get<std::string>())) continue;
    differences.try_emplace(name, Error{Code::kChecksum,
                                        "the sha256 of entry " + Quote(name) +
                                            " is not the one in meta/identity",
                                        Describe(entry, context).offset});
  }
  for (const auto& [name, hash] : listed.items()) {
    if (there.contains(name)) continue;
    differences.try_emplace(name,
                            Error{Code::kCorrupt,
                                  "meta/identity lists entry " + Quote(name) +
                                      ", which is not there",
                                  at});
  }
  std::vector<Error> faults;
  for (auto& [name, error] : differences) faults.push_back(std::move(error));
  return faults;
}

}  // namespace ctxfs::wshard
