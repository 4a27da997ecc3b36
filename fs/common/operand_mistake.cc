// SPDX-License-Identifier: Apache-2.0
#include "fs/common/operand_mistake.h"

#include <sys/stat.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/text/text.h"
#include "core/container/format.h"
#include "core/io/directory.h"
#include "core/io/urls/url.h"
#include "fs/common/nearest_word.h"
#include "fs/common/url_mistake.h"

namespace ctxfs {
namespace {

struct Remote {
  std::string_view scheme;
  std::string_view program;  // a program that downloads it
};

constexpr Remote kRemotes[] = {
    {"gs://", "gcloud storage cp"},
    {"az://", "azcopy copy"},
    {"abfs://", "azcopy copy"},
    {"abfss://", "azcopy copy"},
};

bool Exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

std::string RemoteMistake(const std::string& operand) {
  for (const auto& [scheme, program] : kRemotes) {
    if (!operand.starts_with(scheme)) continue;
    return Quote(operand) +
           ": this store is not supported yet; copy the file with '" +
           std::string(program) + "' and name the copy";
  }
  const std::string meant = MeantUrl(operand);
  return meant.empty()
             ? ""
             : Quote(operand) + ": no such file or directory; did you mean " +
                   Quote(meant) + "?";
}

bool IsContainerAt(const std::string& path) {
  const auto source = OpenSource(path);
  if (!source) return false;
  if ((*source)->is_directory()) return IsContainerDirectory(**source);
  const Result<Buffer> head = ReadHead(**source, Request());
  return head && IsContainer(head->span());
}

/// Returns the path that `path`, which does not exist, was probably meant to
/// be: the nearest name in the same directory. Empty if no name is near.
std::string MeantPath(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string above = path.substr(0, path.size() - name.size());
  NearestWordFinder finder(name, kMaxNearNameBytes);
  std::error_code failed;
  size_t offered = 0;
  for (fs::directory_iterator at(above.empty() ? "." : above, failed), end;
       !failed && at != end && ++offered < kMaxNamesOffered;
       at.increment(failed)) {
    finder.Offer(at->path().filename().native());
  }
  return finder.nearest().empty() ? "" : above + finder.nearest();
}

}  // namespace

std::string OperandMistake(const std::string& operand, bool with_path) {
  if (IsUrl(operand)) return "";
  const size_t mark = with_path
                          ? operand.find("//", operand.find_first_not_of('/'))
                          : std::string::npos;
  const std::string source = operand.substr(0, mark);
  if (Exists(source)) return "";
  if (std::string remote = RemoteMistake(operand); !remote.empty()) {
    return remote;
  }
  for (size_t cut = source.rfind('/'); cut != std::string::npos && cut > 0;
       cut = source.rfind('/', cut - 1)) {
    const std::string above = source.substr(0, cut);
    if (above.ends_with('/') || !Exists(above)) continue;
    const size_t rest = operand.find_first_not_of('/', cut);
    if (rest == std::string::npos || !IsContainerAt(above)) break;
    const std::string meant = Quote(above + "//" + operand.substr(rest));
    return Quote(operand) + ": " + Quote(above) +
           (with_path ? " is a container: write " + meant
                      : " is a container: name it alone; ls, cat and extract "
                        "take " +
                            meant);
  }
  const std::string meant = MeantPath(source);
  if (meant.empty()) return "";
  return Quote(operand) + ": no such file or directory (did you mean " +
         Quote(meant) + "?)";
}

}  // namespace ctxfs
