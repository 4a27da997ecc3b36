// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/pax.h"

#include <algorithm>
#include <charconv>

#include "core/base/text/whole_number.h"

namespace ctxfs::tar {
namespace {

Error BadRecord(const char* why, size_t at) {
  return {Code::kCorrupt, std::string("pax: a record ") + why, at};
}

/// Parses the decimal number before the first blank; 0 if there is none, or if
/// it exceeds the length of `text`.
size_t RecordLength(std::string_view text) {
  size_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length);
  const bool fits = error == std::errc() && stop != end && *stop == ' ' &&
                    length <= text.size();
  return fits ? length : 0;
}

/// Stores the value of the record GNU.sparse.`key`, of any version.
void UseSparse(std::string_view key, std::string_view value,
               PaxValues& values) {
  values.sparse = true;
  const auto append = [value](std::optional<std::string>& to, char after) {
    if (!to) to.emplace();
    *to += value;
    *to += after;
  };
  if (key == "name") {
    values.sparse_name = value;
  } else if (key == "size" || key == "realsize") {
    values.sparse_size = value;
  } else if (key == "major" || key == "minor") {
    append(values.sparse_version, '.');
  } else if (key == "map") {
    values.sparse_map.reset();
    append(values.sparse_map, ',');
  } else if (key == "offset" || key == "numbytes") {
    append(values.sparse_map, ',');
  }
}

void Use(std::string_view key, std::string_view value, PaxValues& values) {
  constexpr std::string_view kSparse = "GNU.sparse.";
  if (key == "path") {
    values.path = value;
  } else if (key == "linkpath") {
    values.linkpath = value;
  } else if (key == "size") {
    values.size = value;
  } else if (key == "mtime") {
    values.mtime = value;
  } else if (key.starts_with(kSparse)) {
    UseSparse(key.substr(kSparse.size()), value, values);
  }
}

uint64_t BytesOf(const std::optional<std::string>& value) {
  return value ? value->size() : 0;
}

}  // namespace

uint64_t PaxValues::bytes() const {
  return BytesOf(path) + BytesOf(linkpath) + BytesOf(size) + BytesOf(mtime) +
         BytesOf(sparse_name) + BytesOf(sparse_version) + BytesOf(sparse_size) +
         BytesOf(sparse_map);
}

Status ParsePax(std::string_view records, PaxValues& values) {
  size_t at = 0;
  while (at < records.size()) {
    const std::string_view rest = records.substr(at);
    // Some writers pad the block with NULs and count them in the size.
    if (rest.find_first_not_of('\0') == std::string_view::npos) return {};
    const size_t length = RecordLength(rest);
    if (length == 0) {
      return BadRecord("has no length, or one that leaves the header", at);
    }
    const std::string_view record = rest.substr(0, length);
    const size_t key = record.find(' ') + 1;
    const size_t equals = record.find('=', key);
    if (key >= length || record.back() != '\n') {
      return BadRecord("does not end where its length says", at);
    }
    if (equals == std::string_view::npos) return BadRecord("has no '='", at);
    Use(record.substr(key, equals - key),
        record.substr(equals + 1, length - equals - 2), values);
    at += length;
  }
  return {};
}

const std::string* PaxChoice(const std::optional<std::string>& own,
                             const std::optional<std::string>& global) {
  const std::optional<std::string>& chosen = own ? own : global;
  return chosen && !chosen->empty() ? &*chosen : nullptr;
}

std::optional<FileTime> PaxTime(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const std::optional<int64_t> seconds =
      WholeNumber<int64_t>(text.substr(0, point));
  if (!seconds || *seconds < 0) return std::nullopt;
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t nanoseconds = 0;
  int64_t unit = kSecond;
  for (const char c : text.substr(std::min(point + 1, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    unit /= 10;
    nanoseconds += unit * (c - '0');
  }
  if (!negative) return FileTime{*seconds, nanoseconds};
  if (nanoseconds == 0) return FileTime{-*seconds, 0};
  return FileTime{-*seconds - 1, kSecond - nanoseconds};
}

Result<uint64_t> PaxSize(std::string_view text) {
  const std::optional<uint64_t> size = WholeNumber<uint64_t>(text);
  if (!size || *size > INT64_MAX) {
    return Error{Code::kCorrupt,
                 "size: the size in a pax header is not a number below 2^63"};
  }
  return *size;
}

}  // namespace ctxfs::tar
