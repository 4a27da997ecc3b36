// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// The directory of each channel below topics/, as names that the tree makes
/// safe (docs/formats/mcap.md, section 8): the topic without one leading slash.
/// Repeated ones get "~2", and so do components that are called like a file of
/// the topic above them.
std::vector<std::string> TopicPaths(const std::vector<Channel>& channels);

/// `path` with `suffix` after its last component. One that the tree makes safe
/// as a whole, such as "..", is made safe first.
std::string WithSuffix(std::string_view path, std::string_view suffix);

/// The extension of messages of an encoding, and of schemas.
std::string_view MessageExtension(std::string_view encoding);
std::string_view SchemaExtension(std::string_view encoding);

}  // namespace ctxfs::mcap
