// SPDX-License-Identifier: Apache-2.0
#include "core/container/facts/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/container/elements.h"
#include "core/container/file_table.h"

namespace ctxfs {
namespace {

constexpr uint32_t kEntriesACheck = 1024;
// Further dtypes are counted as one. Only damaged or hostile containers have so
// many.
constexpr size_t kMaxDtypes = 40;

/// The complete UTF-8 characters in the first `most` bytes of `text`.
std::string_view Beginning(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  for (int i = 0; i < 3 && end > 0; ++i, --end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U) break;
  }
  return text.substr(0, end);
}

}  // namespace

void Facts::Add(std::string_view key, const Json& value,
                std::string_view unit) {
  if (value.is_null() || value.is_discarded()) return;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return AddText(key, text, text.size());
  }
  if (value.is_structured() || value.is_binary()) {
    const std::string text = JsonLine(value);
    return AddText(key, text, text.size());
  }
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const std::string text = fmt::format("{}", value.get<double>());
    return AddText(key, text, text.size());
  }
  if (full()) return LeaveOut(1);
  Json exact = value;
  if (value.is_number_unsigned()) exact = UnsignedJson(value.get<uint64_t>());
  if (value.is_number_integer() && !value.is_number_unsigned()) {
    exact = SignedJson(value.get<int64_t>());
  }
  all_.push_back({AsUtf8(Beginning(key, kKeyBytes)), std::move(exact),
                  std::string(unit), 0});
}

void Facts::AddText(std::string_view key, std::string_view beginning,
                    uint64_t length) {
  if (beginning.empty()) return;
  if (full()) return LeaveOut(1);
  const std::string_view shown = Beginning(beginning, kTextBytes);
  all_.push_back({AsUtf8(Beginning(key, kKeyBytes)), AsUtf8(shown), "",
                  shown.size() < length ? length : 0});
}

void Facts::AddMember(std::string_view key, const Json& object,
                      const char* name, std::string_view unit) {
  if (const Json* member = MemberAt(object, name)) Add(key, *member, unit);
}

void Facts::AddMembers(std::string_view prefix, const Json& object,
                       const std::vector<std::string_view>& without) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    if (std::find(without.begin(), without.end(), name) != without.end()) {
      continue;
    }
    Add(std::string(prefix) + name, value);
  }
}

bool Facts::Has(std::string_view key) const {
  return std::any_of(all_.begin(), all_.end(),
                     [key](const Fact& fact) { return fact.key == key; });
}

Status AddParameters(const FileTable& entries, const ReadContext& context,
                     Facts& facts) {
  std::map<std::string, uint64_t> counts;
  uint64_t all = 0;
  for (uint32_t entry = 0; entry < entries.count(); ++entry) {
    if (entry % kEntriesACheck == 0) CTXFS_TRY(context.Check());
    const std::optional<EntryInfo> info = entries.Describe(entry, context);
    if (!info || info->dtype.empty() || !info->shape) continue;
    const uint64_t elements = ElementsOf(*info->shape);
    all = AddUpTo(all, elements);
    const bool known =
        counts.contains(info->dtype) || counts.size() < kMaxDtypes;
    uint64_t& count = counts[known ? info->dtype : "other"];
    count = AddUpTo(count, elements);
  }
  if (counts.empty()) return {};
  facts.Add("parameters", all, "elements");
  for (const auto& [dtype, count] : counts) {
    facts.Add("parameters." + dtype, count, "elements");
  }
  return {};
}

Status AddArrays(const FileTable& entries, const ReadContext& context,
                 Facts& facts) {
  for (uint32_t entry = 0; entry < entries.count(); ++entry) {
    // Describing an entry may read its header.
    if (facts.full()) {
      facts.LeaveOut(entries.count() - entry);
      break;
    }
    CTXFS_TRY(context.Check());
    const std::optional<EntryInfo> info = entries.Describe(entry, context);
    if (!info || info->dtype.empty() || !info->shape) continue;
    facts.Add("array." + info->name.value_or(""),
              ArrayText(info->dtype, *info->shape));
  }
  return {};
}

std::string ArrayText(std::string_view dtype,
                      const std::vector<uint64_t>& shape) {
  return fmt::format("{} [{}]", dtype, fmt::join(shape, ", "));
}

}  // namespace ctxfs
