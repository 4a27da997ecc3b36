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

/// Keys of S3 and the time of their expiry.
struct ExpiringKeys {
  AwsKeys keys;
  int64_t expires_ns = 0;  // since 1970
};

/// Parses the response of an AWS metadata service: a JSON object with
/// AccessKeyId, SecretAccessKey, Token and Expiration. Fails with kIo.
Result<ExpiringKeys> MetadataKeysIn(const std::string& body);

/// Keys of S3 that the metadata service of an AWS container or instance issues
/// to its programs. They expire, and are renewed before that.
class AwsMetadata {
 public:
  explicit AwsMetadata(MetadataService service)
      : service_(std::move(service)) {}

  /// Renews `keys` if they have expired or soon will. Waits for the service,
  /// because no request can be signed without keys. Fails with kIo if the
  /// service fails and `keys` have expired. For a second after a failure, sends
  /// no other request to the service.
  Status Renew(AwsKeys& keys);

 private:
  using Clock = std::chrono::steady_clock;

  Result<ExpiringKeys> Ask();
  Result<ExpiringKeys> AskInstance();

  const MetadataService service_;
  int64_t expires_ns_ = 0;
  Clock::time_point next_;  // no request to the service before
  std::optional<Error> error_;
};

}  // namespace ctxfs::remote
