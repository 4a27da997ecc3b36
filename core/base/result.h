// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace ctxfs {

/// What went wrong, coarse enough to choose an errno or an exit code by.
enum class Code : uint8_t {
  kNotFound,      // no such entry or file
  kNotContainer,  // no known format recognises the bytes
  kVersion,       // a known format in a version we do not read
  kCorrupt,       // the bytes contradict the format or each other
  kChecksum,      // the bytes contradict their checksum
  kLimit,         // a count or size exceeds a limit of limits.h
  kIo,            // the store failed; worth trying again
  kStale,         // the store no longer holds what was opened
  kNoMemory,      // an allocation failed; worth trying again
  kTooManyFiles,  // no file descriptor is free; worth trying again
  kLocked,        // encrypted, and no key was given
  kInterrupted,   // the requester gave up; says nothing about the file
};

constexpr uint64_t kNoOffset = UINT64_MAX;

/// A failure as a value. `what` names the field or entry, `offset` the byte of
/// the container it concerns (kNoOffset when there is none).
struct Error {
  Code code;
  std::string what;
  uint64_t offset = kNoOffset;
  int sys_errno = 0;  // of the system call that failed; 0 if none did

  /// Returns whether the process or the system ran out of descriptors or
  /// memory: the file that was to be opened or read may be sound.
  bool Exhausted() const {
    return code == Code::kNoMemory || code == Code::kTooManyFiles;
  }

  /// Whether the same request fails again. A failed read or allocation, or an
  /// interrupted request, may succeed the next time.
  bool Permanent() const {
    return code != Code::kIo && code != Code::kStale &&
           code != Code::kInterrupted && !Exhausted();
  }

  /// "byte 80: entry 0: ..." or just the text.
  std::string Text() const {
    if (offset == kNoOffset) return what;
    return "byte " + std::to_string(offset) + ": " + what;
  }
};

/// A T or an Error, spelled like C++23's std::expected. Converts from both, so
/// failures pass upwards as `if (!r) return r.error();`.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): returning a T is the point
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as is returning an Error
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Of what converts to a T, such as a pointer to a derived class.
  template <typename U>
  requires std::is_convertible_v<U, T>
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Result<U> other)
      : Result(other ? Result(T(*std::move(other)))
                     : Result(std::move(other).error())) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }

  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

/// A T, or nothing, or an Error.
template <typename T>
using Maybe = Result<std::optional<T>>;

}  // namespace ctxfs
