// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/remote/fetcher/settings.h"

namespace ctxfs::remote {

/// Keys of S3 with the time from which on they are refused.
struct ExpiringKeys {
  AwsKeys keys;
  int64_t expires_ns = 0;  // since 1970
};

/// Parses what a metadata service of AWS answers: a JSON object with
/// AccessKeyId, SecretAccessKey, Token and Expiration. Fails with kIo.
Result<ExpiringKeys> MetadataKeysIn(const std::string& body);

/// Keys of S3 that the service of a container or an instance of AWS gives to
/// the programs in it. They expire, and are asked for again before that.
class AwsMetadata {
 public:
  explicit AwsMetadata(MetadataService service)
      : service_(std::move(service)) {}

  /// Puts keys into `keys` that have not expired. Waits for the service if it
  /// has to be asked: no request can be signed until it has answered. Fails
  /// with kIo, and then a second long without asking again.
  Status Renew(AwsKeys& keys);

 private:
  using Clock = std::chrono::steady_clock;

  Result<ExpiringKeys> Ask();
  Result<ExpiringKeys> AskInstance();

  const MetadataService service_;
  int64_t expires_ns_ = 0;
  Clock::time_point next_;  // before it, the service is not asked
  std::optional<Error> error_;
};

}  // namespace ctxfs::remote
