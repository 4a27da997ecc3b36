// SPDX-License-Identifier: Apache-2.0
#include "fs/server.h"

#include "core/base/text.h"
#include "fs/log.h"

namespace ctxfs {

Server::Server(std::shared_ptr<const Container> container,
               const MountOptions& options, const OpenOptions& open_options,
               const std::string& name)
    : cache_(options.cache_bytes),
      source_(container->source()),
      name_(name),
      files_(container, options.flat ? "" : name, StatsFile(), open_options),
      ahead_(std::move(container), cache_, options.cache_bytes),
      verify_at_open_(options.verify == VerifyMode::kOpen),
      uid_(options.uid),
      gid_(options.gid),
      umask_(options.umask) {}

OwnFile Server::StatsFile() {
  const auto open = [this](BlockCache& cache) -> Result<Content> {
    auto text = std::make_shared<const std::string>(
        stats_.Text(cache.stats(), *source_));
    const uint64_t size = text->size();
    Content content;
    content.Append(Literal{std::move(text)}, size);
    return content;
  };
  return {"stats", open, /*live=*/true};
}

void Server::LogFailure(Inode inode, const Error& error) {
  // A reader that tries again and again must not fill the log.
  constexpr size_t kMostLogged = 10'000;
  {
    const MutexLock lock(mutex_);
    if (logged_.size() >= kMostLogged || !logged_.insert(inode).second) return;
  }
  Log(LogLevel::kError, Quote(name_) + ": " +
                            Quote(files_.PathInContainer(inode)) + ": " +
                            error.Text());
}

}  // namespace ctxfs
