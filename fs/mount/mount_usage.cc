// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/views/list/views.h"
#include "fs/mount/options.h"

namespace ctxfs {
namespace {

/// The names of views, wrapped to fit below the explanation of an option.
std::string ListOfViews() {
  constexpr size_t kWidth = 80 - 21;
  std::string names = ViewNames();
  std::string lines;
  while (names.size() > kWidth) {
    const size_t comma = names.rfind(',', kWidth - 1);
    if (comma == std::string::npos) break;
    lines += names.substr(0, comma + 1) + "\n" + std::string(21, ' ');
    names.erase(0, comma + 1);
  }
  return lines + names;
}

}  // namespace

std::string MountUsage() {
  return R"(usage: mount.ctxfs SOURCE... [MOUNTPOINT] [-o OPTION[,OPTION...]] [-f] [-v]
Shows the entries of machine-learning containers as read-only files.
A SOURCE is a container, or a directory with containers in it. Without
MOUNTPOINT a directory named after SOURCE is made in the current directory
and its name is printed. It is removed after unmounting.

  -f                 stay in the foreground, log to standard error
  -v                 log more (the same as -o log=info)
  -h, --help         print this help
  -V, --version      print the version

  flat               show the container's contents at the mount's root
  verify=WHEN        read (default): verify an entry at its first read; open:
                     when it is opened, so that mmap readers get an error
                     instead of a signal; off: never
  views=LIST         which views to show under views/: all (default), none,
                     or names of
                     )" +
         ListOfViews() + R"(
  list=WHAT          what listings show besides the primary files: primary
                     (default): nothing; views: views/; all: .ctxfs/ as well.
                     Paths in these can be opened in any case
  salvage            mount a damaged container and serve its intact entries
  keyfile=PATH       the key of encrypted entries: 32 bytes or 64 hex digits, in
                     a file that only you may access
  insecure_keyfile   accept a key file that others may access
  profile=NAME       the profile in ~/.aws with the keys and region for s3://
  region=NAME        the region of s3://
  endpoint=URL       a store that speaks S3, in place of AWS
  addressing=STYLE   where requests to such a store name the bucket: path
                     (default), or virtual: in front of the host
  cafile=PATH        certificates to trust in place of the system's
  aws_metadata       get the keys of s3:// from the metadata service of the
                     container or the instance of AWS, unless a profile or the
                     environment has some
  remote_timeout=SECONDS
                     how long a request to a server is repeated (default 60)
  offline            of URLs, serve what the cache on disk has, and fetch nothing
  cache=SIZE         memory for decoded bytes (default: an eighth of what there
                     is, from 64M to 2G)
  cache_dir=DIR      where compressed entries larger than cache= are decoded to
                     (default: $TMPDIR, or /var/tmp), in a file without a name,
                     and where what is fetched of URLs is kept (default:
                     $XDG_CACHE_HOME/ctxfs, or ~/.cache/ctxfs)
  cache_dir_size=SIZE
                     how much each of both may take (default 10G)
  materialize=SIZE   write a file of a container that was read as a whole to a
                     file below cache_dir=, and serve it from there when it is
                     opened again; how much these may take (default 0)
  materialize_only=PATTERNS
                     only these, by their paths below the container, such as
                     views/npy:signal/*
  cache_keep         keep them, and what was found by decoding a file that is
                     compressed as a whole, for other mounts, where URLs are
                     kept
  index=SIZE         memory for indexes of open containers (default 512M, 2G if
                     the source is a container)
  threads=N          worker threads (default: cores, at least 4)
  max_expansion=N    work that one request may cause, in bytes per byte of the
                     container (default 1024; 0: any)
  readahead=SIZE     the read-ahead of the mount (root only)
  timeout=SECONDS    how long names and attributes of a mirrored directory may
                     be out of date (default 1); more is faster
  revalidate=SECONDS
                     let the kernel open files and use what it has of them
                     without asking, and see after SECONDS that a container has
                     changed; 0: at each open (default auto: 1, and at once when
                     it is written to, for one container in a local file)
  passthrough=WHO    auto (default), on or off: let the kernel read files of a
                     mirrored directory that are no containers, and those of
                     cache_dir= and materialize=, by itself
  noxattrs           give files no extended attributes, for a faster ls -l
  nosandbox          do not confine the daemon to reading the sources
  nonempty           mount on a directory that is not empty or has a ctxfs
                     mount, and hide what is there
  uid=N, gid=N       owner and group of the files (default: yours; with
                     allow_other those of the container)
  umask=MODE         permission bits to clear, in octal
  modes              give members of tar and zip the permission bits that the
                     archive has for them, but for those to write
  allow_other        let other users read what the permissions of the
                     container's own file let them read
  allow_root         let root in
  auto_unmount       unmount when the daemon dies
  log=LEVEL          error, warning (default), info or debug

examples:
    ctxfs mount model.mosh
    ctxfs mount ~/models /mnt/models -o verify=open,cache=2G
    mount -t ctxfs model.mosh /mnt/model -o flat

Unmount with umount or fusermount3 -u. Exit codes: 0 mounted, 1 usage,
2 a source cannot be opened, 3 its format is not known, 4 it is damaged,
5 its version is not supported, 6 the mount point cannot be used, 7 FUSE
refused the mount, 8 a limit was exceeded, 9 the key file cannot be used.
)";
}

}  // namespace ctxfs
