// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace ctxfs {

/// The class of a failure, coarse enough to choose an errno or an exit code.
enum class Code : uint8_t {
  kNotFound,      // no such entry or file
  kNotContainer,  // no known format recognises the bytes
  kVersion,       // a known format in a version we do not read
  kUnsupported,   // a method we do not decode; the file may be sound
  kCorrupt,       // the bytes contradict the format or each other
  kChecksum,      // the bytes contradict their checksum
  kLimit,         // a count, a size, work or memory exceeds its limit
  kIo,            // a read failed; worth trying again
  kStale,         // the file has changed since it was opened
  kNoMemory,      // an allocation failed; worth trying again
  kTooManyFiles,  // no file descriptor is free; worth trying again
  kLocked,        // encrypted; no key was given, or keys are unsupported
  kInterrupted,   // the caller gave up; says nothing about the file
};

constexpr uint64_t kNoOffset = UINT64_MAX;

/// A failure as a value. `what` names the field or entry, `offset` the byte of
/// the container (kNoOffset if there is none).
struct Error {
  Code code;
  std::string what;
  uint64_t offset = kNoOffset;
  int sys_errno = 0;  // of a failed system call, or for ErrnoOf; else 0

  /// Returns whether descriptors or memory ran out, in the system or within a
  /// limit of the process: the file may be sound.
  bool Exhausted() const {
    return code == Code::kNoMemory || code == Code::kTooManyFiles;
  }

  /// Whether the same request would fail again. Failed reads, changed files,
  /// interrupts, and lack of memory or descriptors are transient.
  bool Permanent() const {
    return code != Code::kIo && code != Code::kStale &&
           code != Code::kInterrupted && !Exhausted();
  }

  /// Whether the same request may soon succeed, although nobody changes the
  /// file: a disk or a server failed, memory or descriptors ran out, or the
  /// caller gave up. False for other transient errors, such as a refused
  /// permission. A passing error must not decide what a container has.
  bool Passing() const {
    const bool failed =
        code == Code::kIo &&
        (sys_errno == EIO || sys_errno == EAGAIN || sys_errno == ETIMEDOUT);
    return failed || code == Code::kInterrupted || Exhausted();
  }

  /// "byte 80: entry 0: ...", or the text alone without an offset.
  std::string Text() const {
    if (offset == kNoOffset) return what;
    return "byte " + std::to_string(offset) + ": " + what;
  }
};

/// Ends the process with a message. Called when code reads the value of a
/// Result that holds an error, or the error of a Result that holds a value:
/// continuing would read uninitialised memory.
[[noreturn, gnu::cold]] void AbortOnWrongResult();

/// A T or an Error, with the interface of C++23's std::expected. A T and an
/// Error convert to a Result. CTXFS_TRY returns failures to the caller. Reading
/// the value of a Result that holds an error ends the process in every build.
/// The compiler removes this check if the code has tested the Result before.
template <typename T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): returning a T is the point
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as is returning an Error
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Converts from a Result of another type that converts to T, such as a
  /// pointer to a derived class.
  template <typename U>
  requires std::is_convertible_v<U, T>
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Result<U> other)
      : Result(other ? Result(T(*std::move(other)))
                     : Result(std::move(other).error())) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return Get<0>(state_); }
  const T& operator*() const& { return Get<0>(state_); }
  T&& operator*() && { return std::move(Get<0>(state_)); }
  T* operator->() { return &Get<0>(state_); }
  const T* operator->() const { return &Get<0>(state_); }

  const Error& error() const& { return Get<1>(state_); }
  Error&& error() && { return std::move(Get<1>(state_)); }

 private:
  template <size_t kIndex, typename State>
  static auto& Get(State& state) {
    auto* const held = std::get_if<kIndex>(&state);
    if (held == nullptr) [[unlikely]] {
      AbortOnWrongResult();
    }
    return *held;
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): see above
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }

  const Error& error() const& {
    if (!error_) [[unlikely]] {
      AbortOnWrongResult();
    }
    return *error_;
  }
  Error&& error() && {
    if (!error_) [[unlikely]] {
      AbortOnWrongResult();
    }
    return *std::move(error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

/// A T, or nothing, or an Error.
template <typename T>
using Maybe = Result<std::optional<T>>;

namespace internal {

template <typename T>
T TakeValue(Result<T>&& result) {
  return *std::move(result);
}
inline void TakeValue(Status&& /*success*/) {}

}  // namespace internal

#define CTXFS_JOIN_TOKENS(left, right) left##right
#define CTXFS_TRY_NAMED(result, ...)                                      \
  __extension__({                                                         \
    auto&& result = (__VA_ARGS__);                                        \
    if (!result) [[unlikely]]                                             \
      return std::move(result).error();                                   \
    ::ctxfs::internal::TakeValue(std::forward<decltype(result)>(result)); \
  })
#define CTXFS_TRY_COUNTED(count, ...) \
  CTXFS_TRY_NAMED(CTXFS_JOIN_TOKENS(ctxfs_try_, count), __VA_ARGS__)

/// Evaluates to the value of a Result. If the Result holds an error, returns
/// the error from the enclosing function. For a Status there is no value:
///
///   const Header header = CTXFS_TRY(ReadHeader(source));
///   CTXFS_TRY(header.Check());
///
/// The value is moved out of the Result, so it never refers to a temporary. A
/// named Result must be moved in, CTXFS_TRY(std::move(result)); without the
/// move it does not compile. Write it as a whole statement, a whole initialiser
/// or the whole right side of an assignment: compilers do not destroy
/// temporaries that were made earlier in the same expression.
#define CTXFS_TRY(...) CTXFS_TRY_COUNTED(__COUNTER__, __VA_ARGS__)

}  // namespace ctxfs
