// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/messages.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/cache/block_store.h"
#include "core/remote/client/channel.h"

namespace ctxfs::remote {
namespace {

void AppendText(std::string_view text, std::string& to) {
  AppendLe(static_cast<uint32_t>(text.size()), to);
  to += text;
}

std::string TakeText(ByteReader& reader) {
  const uint32_t size = reader.U32();
  return std::string(AsText(reader.Take(size)));
}

void AppendIdentity(const Identity& identity, std::string& to) {
  AppendText(identity.etag, to);
  AppendText(identity.last_modified, to);
  AppendLe(identity.size, to);
}

Identity TakeIdentity(ByteReader& reader) {
  Identity identity;
  identity.etag = TakeText(reader);
  identity.last_modified = TakeText(reader);
  identity.size = reader.U64();
  return identity;
}

bool IsComplete(const ByteReader& reader) {
  return reader.ok() && reader.remaining() == 0;
}

}  // namespace

std::string Encode(const FetchRequest& request) {
  std::string text;
  AppendLe(request.id, text);
  AppendLe(request.epoch, text);
  AppendText(request.url, text);
  AppendLe(static_cast<uint8_t>(request.identity.has_value() ? 1 : 0), text);
  if (request.identity) AppendIdentity(*request.identity, text);
  AppendLe(static_cast<uint8_t>(request.page.has_value() ? 1 : 0), text);
  if (request.page) AppendText(*request.page, text);
  AppendLe(static_cast<uint8_t>(request.tail ? 1 : 0), text);
  AppendLe(request.first, text);
  AppendLe(static_cast<uint8_t>(request.slots.size()), text);
  for (const uint16_t slot : request.slots) AppendLe(slot, text);
  AppendLe(static_cast<uint8_t>(request.takes_files ? 1 : 0), text);
  AppendLe(static_cast<uint8_t>(request.waits_for_cache ? 1 : 0), text);
  AppendLe(static_cast<uint8_t>(request.flush ? 1 : 0), text);
  return text;
}

void SetEpoch(std::string& request, uint32_t epoch) {
  std::string bytes;  // short, so without an allocation
  AppendLe(epoch, bytes);
  std::ranges::copy(bytes, request.begin() + sizeof(FetchRequest::id));
}

std::optional<FetchRequest> DecodeRequest(std::string_view message) {
  ByteReader reader(AsBytes(message));
  FetchRequest request;
  request.id = reader.U64();
  request.epoch = reader.U32();
  request.url = TakeText(reader);
  if (reader.U8() != 0) request.identity = TakeIdentity(reader);
  if (reader.U8() != 0) request.page = TakeText(reader);
  request.tail = reader.U8() != 0;
  request.first = reader.U64();
  const uint8_t slots = reader.U8();
  const size_t most = request.page ? kPageGranules : kMaxGranules;
  if (slots > most) return std::nullopt;
  if (request.page && request.identity) return std::nullopt;
  if (request.tail &&
      (request.page || request.identity || slots != kTailGranules)) {
    return std::nullopt;
  }
  for (uint8_t i = 0; i < slots; ++i) request.slots.push_back(reader.U16());
  request.takes_files = reader.U8() != 0;
  request.waits_for_cache = reader.U8() != 0;
  request.flush = reader.U8() != 0;
  if (!IsComplete(reader)) return std::nullopt;
  if (request.flush != (slots == 0)) return std::nullopt;
  if (request.identity &&
      !InBounds(request.first, slots,
                request.identity->size / kGranuleBytes + 1)) {
    return std::nullopt;
  }
  return request;
}

std::string Encode(const FetchReply& reply) {
  std::string text;
  AppendLe(reply.id, text);
  AppendLe(reply.epoch, text);
  AppendLe(static_cast<uint8_t>(reply.error.has_value() ? 1 : 0), text);
  if (reply.error) {
    AppendLe(static_cast<uint8_t>(reply.error->code), text);
    AppendText(std::string_view(reply.error->what).substr(0, kMaxErrorBytes),
               text);
    AppendLe(static_cast<uint32_t>(reply.error->sys_errno), text);
  }
  AppendIdentity(reply.identity, text);
  AppendText(reply.last_modified, text);
  AppendLe(reply.page_bytes, text);
  AppendText(reply.link, text);
  AppendLe(reply.requests, text);
  AppendLe(reply.received, text);
  AppendLe(reply.cached, text);
  AppendLe(static_cast<uint8_t>(reply.kept ? 1 : 0), text);
  AppendLe(reply.timeout_ms, text);
  AppendLe(static_cast<uint8_t>(reply.refusal.has_value() ? 1 : 0), text);
  if (reply.refusal) AppendLe(*reply.refusal, text);
  const auto times =
      static_cast<uint16_t>(std::min(reply.took_us.size(), kMaxTimes));
  AppendLe(times, text);
  for (size_t i = 0; i < times; ++i) AppendLe(reply.took_us[i], text);
  AppendText(reply.digest, text);
  AppendLe(static_cast<uint8_t>(reply.files.size()), text);
  for (const PassedFile& file : reply.files) {
    AppendLe(file.first, text);
    AppendLe(file.count, text);
  }
  // Records in the cache (answers.h) end here, as those of older versions do.
  if (reply.first_us == 0 && reply.skipped == 0) return text;
  AppendLe(reply.first_us, text);
  AppendLe(reply.skipped, text);
  return text;
}

std::optional<FetchReply> DecodeReply(std::string_view message) {
  ByteReader reader(AsBytes(message));
  FetchReply reply;
  reply.id = reader.U64();
  reply.epoch = reader.U32();
  if (reader.U8() != 0) {
    const uint8_t code = reader.U8();
    if (code > static_cast<uint8_t>(Code::kInterrupted)) return std::nullopt;
    Error error{static_cast<Code>(code), TakeText(reader)};
    error.sys_errno = static_cast<int>(reader.U32());
    reply.error = std::move(error);
  }
  reply.identity = TakeIdentity(reader);
  reply.last_modified = TakeText(reader);
  reply.page_bytes = reader.U64();
  reply.link = TakeText(reader);
  reply.requests = reader.U32();
  reply.received = reader.U64();
  reply.cached = reader.U64();
  reply.kept = reader.U8() != 0;
  reply.timeout_ms = reader.U32();
  if (reader.U8() != 0) reply.refusal = reader.U32();
  const uint16_t times = reader.U16();
  if (times > kMaxTimes) return std::nullopt;
  for (uint16_t i = 0; i < times; ++i) reply.took_us.push_back(reader.U32());
  reply.digest = TakeText(reader);
  const uint8_t files = reader.U8();
  if (files > kMaxPassed) return std::nullopt;
  for (uint8_t i = 0; i < files; ++i) {
    const uint64_t first = reader.U64();
    const uint32_t count = reader.U32();
    if (count == 0 || count > BlockStore::kMaxBlocks) return std::nullopt;
    reply.files.push_back({first, count});
  }
  if (reader.ok() && reader.remaining() > 0) {
    reply.first_us = reader.U32();
    reply.skipped = reader.U64();
  }
  if (!IsComplete(reader)) return std::nullopt;
  return reply;
}

}  // namespace ctxfs::remote
