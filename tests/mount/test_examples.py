# SPDX-License-Identifier: Apache-2.0
"""packaging/examples: units for systemd, and manifests for Docker and Kubernetes."""

import configparser
import pathlib
import shlex

import pytest
import yaml

from conftest import BIN, GOLDEN, ROOT, run

EXAMPLES = ROOT / "packaging" / "examples"
UNITS = sorted((EXAMPLES / "systemd").iterdir())


def unit(path: pathlib.Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return parser


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_accepts_the_unit(path, tmp_path):
    """systemd-analyze verify, where /usr/bin has ctxfs."""
    (tmp_path / "bin").mkdir()
    done = run("unshare", "-m", "bash", "-c", f"""
        set -e
        mount -t tmpfs none {tmp_path}/bin
        mkdir {tmp_path}/bin/up {tmp_path}/bin/work
        mount -t overlay none /usr/bin \
            -o lowerdir=/usr/bin,upperdir={tmp_path}/bin/up,workdir={tmp_path}/bin/work
        cp --remove-destination {BIN}/ctxfs /usr/bin/ctxfs
        systemd-analyze verify --man=no --recursive-errors=no {' '.join(map(str, UNITS))}
    """)
    about = [line for line in (done.stdout + done.stderr).decode().splitlines()
             if path.name in line]
    assert done.returncode == 0 and about == [], (about, done.stderr.decode())


def test_a_unit_has_the_name_of_its_mount_point():
    for path in UNITS:
        if path.suffix not in (".mount", ".automount"):
            continue
        section = unit(path)["Mount" if path.suffix == ".mount" else "Automount"]
        name = run("systemd-escape", "-p", f"--suffix={path.suffix[1:]}", section["Where"])
        assert name.stdout.decode().strip() == path.name


def accepted(words: list[str]) -> None:
    """The command has no usage error: it fails because its source does not exist here."""
    done = run(BIN / words[0], *words[1:])
    assert done.returncode == 2, done.stderr.decode()
    assert b"No such file" in done.stderr


def test_commands_of_the_units(fuse):
    service = unit(EXAMPLES / "systemd" / "ctxfs-model.service")["Service"]
    assert service["Type"] == "notify"
    words = shlex.split(service["ExecStart"])
    assert words[0] == "/usr/bin/ctxfs"
    accepted(["ctxfs", *words[1:]])
    mount = unit(EXAMPLES / "systemd" / "mnt-models.mount")["Mount"]
    accepted(["mount.ctxfs", mount["What"], mount["Where"], "-o", mount["Options"]])


def test_the_pod(fuse):
    pod = yaml.safe_load((EXAMPLES / "kubernetes.yaml").read_text())
    [sidecar] = pod["spec"]["initContainers"]
    [reader] = pod["spec"]["containers"]
    accepted(["ctxfs", *sidecar["args"]])
    assert sidecar["restartPolicy"] == "Always"
    [shared] = [m for m in sidecar["volumeMounts"] if m["name"] == "model"]
    [seen] = [m for m in reader["volumeMounts"] if m["name"] == "model"]
    assert shared["mountPropagation"] == "Bidirectional"
    assert seen["mountPropagation"] == "HostToContainer"
    point = pathlib.PurePath(sidecar["args"][3])
    assert point.is_relative_to(shared["mountPath"])
    assert sidecar["startupProbe"]["exec"]["command"][-1] == f"{point}/.ctxfs"


def test_the_pods_reader_sees_the_mount(fuse, tmp_path):
    """Two mount namespaces that share a directory, as the pod's containers do."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    shared = tmp_path / "shared"
    shared.mkdir()
    source = GOLDEN / "mcf" / "basic.mcf"
    done = run("unshare", "-m", "--propagation", "private", "bash", "-c", f"""
        set -e
        mount --bind {shared} {shared}
        mount --make-shared {shared}
        unshare -m --propagation unchanged {BIN}/ctxfs mount {source} {shared}/files \
            -o flat,allow_other
        unshare -m --propagation slave setpriv --reuid 65534 --regid 65534 --clear-groups \
            ls {shared}/files
        umount {shared}/files
    """)
    assert done.returncode == 0 and b"tensors" in done.stdout, done.stderr.decode()


def test_the_compose_file(fuse):
    service = yaml.safe_load((EXAMPLES / "compose.yaml").read_text())["services"]["shell"]
    assert service["devices"] == ["/dev/fuse"] and service["cap_add"] == ["SYS_ADMIN"]
    [command] = service["command"]
    accepted(shlex.split(command.partition(" && ")[0]))
