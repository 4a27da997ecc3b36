// SPDX-License-Identifier: Apache-2.0
#include <lz4.h>

#include <algorithm>
#include <climits>
#include <string>

#include "core/codec/codec.h"
#include "core/codec/copy_match.h"

namespace ctxfs {
namespace {

constexpr size_t kMinMatch = 4;
constexpr size_t kLongRun = 15;  // nibble value: more length bytes follow

/// Reads the length that a nibble starts. If the nibble is 15, adds the bytes
/// after it, up to and including the first that is not 255.
bool ReadLength(ByteReader& in, size_t nibble, size_t* length) {
  *length = nibble;
  if (nibble != kLongRun) return true;
  uint8_t more = 255;
  while (more == 255) {
    more = in.U8();
    if (!in.ok()) return false;
    *length += more;  // cannot wrap: each byte read adds at most 255
  }
  return true;
}

/// Walks the sequences of a block and checks every bound. With kCopy, decodes
/// them into `out`; otherwise only checks that they decode to out.size() bytes.
template <bool kCopy>
Status Follow(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  const auto damaged = [](const char* what) {
    return Error{Code::kCorrupt, std::string("lz4: ") + what};
  };
  ByteReader in(stored);
  size_t done = 0;
  size_t next_check = kBytesPerCheck;
  while (in.remaining() > 0) {
    if (done >= next_check) {
      CTXFS_TRY(interrupt.Check());
      next_check = done + kBytesPerCheck;
    }
    const uint8_t token = in.U8();
    size_t length = 0;
    if (!ReadLength(in, token >> 4, &length)) {
      return damaged("the block ends within a length");
    }
    const Bytes literals = in.Take(length);
    if (!in.ok()) return damaged("the block ends within literals");
    if (literals.size() > out.size() - done) {
      return damaged("literals run past the decoded size");
    }
    if constexpr (kCopy) {
      std::copy(literals.begin(), literals.end(), out.data() + done);
    }
    done += literals.size();
    if (in.remaining() == 0) break;

    const size_t distance = in.U16();
    if (!in.ok() || !ReadLength(in, token & 15U, &length)) {
      return damaged("the block ends within a match");
    }
    length += kMinMatch;
    if (distance == 0 || distance > done) {
      return damaged("a match reaches before the start");
    }
    if (length > out.size() - done) {
      return damaged("a match runs past the decoded size");
    }
    if constexpr (kCopy) CopyMatch(out.data() + done, distance, length);
    done += length;
  }
  if (done != out.size()) {
    return damaged("decodes to fewer bytes than the decoded size");
  }
  return {};
}

}  // namespace

Status DecodeLz4(Bytes stored, MutableBytes out, const Interrupt& interrupt) {
  CTXFS_TRY(interrupt.Check());
  if (stored.size() <= INT_MAX && out.size() <= INT_MAX) {
    // liblz4 requires a non-null pointer even for no bytes.
    char nothing = 0;
    char* to = out.empty() ? &nothing : reinterpret_cast<char*>(out.data());
    const int n = LZ4_decompress_safe(
        reinterpret_cast<const char*>(stored.data()), to,
        static_cast<int>(stored.size()), static_cast<int>(out.size()));
    if (n >= 0 && static_cast<size_t>(n) == out.size()) {
      // Checks the block again: liblz4 accepts a distance of 0, which copies
      // uninitialised memory.
      Status sound = Follow<false>(stored, out, interrupt);
      if (sound || !sound.error().Permanent()) return sound;
    }
  }
  return DecodeLz4Lenient(stored, out, interrupt);
}

size_t DecodeLz4Prefix(Bytes stored, MutableBytes out) {
  ByteReader in(stored);
  size_t done = 0;
  while (done < out.size() && in.remaining() > 0) {
    const uint8_t token = in.U8();
    size_t length = 0;
    if (!ReadLength(in, token >> 4, &length)) break;
    const Bytes literals = in.Take(std::min<uint64_t>(
        {length, in.remaining(), uint64_t{out.size() - done}}));
    std::copy(literals.begin(), literals.end(), out.data() + done);
    done += literals.size();
    if (literals.size() < length) break;

    const size_t distance = in.U16();
    if (!in.ok() || !ReadLength(in, token & 15U, &length)) break;
    if (distance == 0 || distance > done) break;
    length = std::min(length + kMinMatch, out.size() - done);
    CopyMatch(out.data() + done, distance, length);
    done += length;
  }
  return done;
}

Status DecodeLz4Lenient(Bytes stored, MutableBytes out,
                        const Interrupt& interrupt) {
  return Follow<true>(stored, out, interrupt);
}

}  // namespace ctxfs
