# SPDX-License-Identifier: Apache-2.0
"""A Debian in a directory, of the suite that this one is, to install packages in."""

import hashlib
import os
import pathlib
import platform
import stat
import subprocess

SUITE = platform.freedesktop_os_release()["VERSION_CODENAME"]
MIRROR = os.environ.get("CTXFS_DEBIAN_MIRROR", "http://deb.debian.org/debian")
SCRIPTS = pathlib.Path("/usr/share/debootstrap/scripts")
# What apt, dpkg and ldconfig write about every package, and mount(8) about mounts.
BOOKKEEPING = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/tmp/",
               "/run/mount")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
}


def make_base(archive: pathlib.Path, suite: str = SUITE, mirror: str = MIRROR) -> None:
    """Writes a tar of a minimal system; takes minutes and fetches 60 MB."""
    folder = archive.parent / "debootstrap"
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)
    # What debootstrap is to do for a suite that is younger than it.
    script = [] if (SCRIPTS / suite).exists() else [SCRIPTS / "gutsy"]
    subprocess.run(
        ["debootstrap", "--variant=minbase", suite, folder, mirror, *script],
        check=True, timeout=900, stdout=subprocess.DEVNULL,
    )
    partial = archive.with_suffix(".partial")
    subprocess.run(["tar", "-C", folder, "-cf", partial, "."], check=True)
    partial.rename(archive)
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


class DebianTree:
    """A root directory; scripts run in it as root in namespaces of their own.

    What a script mounts and the processes it starts end with it.
    """

    def __init__(self, root: pathlib.Path, base: pathlib.Path):
        self.root = root
        root.mkdir()
        subprocess.run(["tar", "-C", root, "-xf", base], check=True)
        # As systemd and Docker make it; fusermount3 -u reads it.
        (root / "etc/mtab").symlink_to("/proc/mounts")
        # dpkg need not sync every file of a tree that is deleted soon.
        (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")

    def run(self, script: str) -> str:
        enter = """
            mount -t proc proc "$0/proc"
            mount -t tmpfs -o mode=755 dev "$0/dev"
            cp -a /dev/null /dev/zero /dev/random /dev/urandom "$0/dev"
            mknod -m 666 "$0/dev/fuse" c 10 229  # the mode that udev gives it
            exec chroot "$0" bash -ec "$1"
        """
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child",
             "bash", "-ec", enter, self.root, script],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900,
            env=ENVIRONMENT,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def copy_in(self, *files) -> None:
        """Copies files to /tmp."""
        subprocess.run(["cp", "-r", *files, self.root / "tmp"], check=True)

    def contents(self) -> dict[str, tuple]:
        """Mode, owner and contents of everything, except what dpkg writes."""
        found = {}
        for parent, folders, names in os.walk(self.root):
            for name in folders + names:
                path = pathlib.Path(parent, name)
                shown = "/" + str(path.relative_to(self.root))
                status = path.lstat()
                if shown.startswith(BOOKKEEPING):
                    continue
                what = None
                if stat.S_ISLNK(status.st_mode):
                    what = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    what = hashlib.sha256(path.read_bytes()).hexdigest()
                found[shown] = (status.st_mode, status.st_uid, status.st_gid, what)
        return found
