"""An emulated machine with Debian's kernel, one CPU and a clock that counts instructions: other load has no effect.

`measure(points)` boots it, and gives what each point measured. Needs root the first time, to install QEMU, a compiler and
what goes into the machine; the kernel and the machine's files are kept in bench/build/linux.
"""

import base64
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from linux_setup import setup

HERE = pathlib.Path(__file__).resolve().parent
SCENARIO = HERE.parent / "scenarios" / "linux-servers.toml"
BUILD = HERE.parent / "build" / "linux"
PACKAGES = "qemu-system-x86 busybox-static cpio kmod ethtool iproute2 tcpdump gcc libc6-dev".split()
APPLETS = "sh seq rm mv printf modprobe sort sed mount insmod sleep cat grep awk ls mkdir poweroff sysctl kill head cut tr uname gzip base64 env".split()
PROGRAMS = "/usr/sbin/ip /usr/sbin/tc /usr/bin/nstat /usr/sbin/ethtool /usr/bin/tcpdump".split()
MODULES = "veth af_packet sch_htb sch_red sch_netem tcp_dctcp".split()
DCTCP = "tcp_dctcp.ko"
SCHEMES = {"cubic": "cubic", "reno": "newreno", "dctcp": "dctcp"}
FRAME = 1514
# A queue that marks at 30,000 B: a threshold, by RED's average of weight 1/2.
RED = {"red.min_th": "30000 B", "red.max_th": "30001 B", "red.max_p": 1, "red.weight": "1/2", "red.gentle": False}


@dataclasses.dataclass(frozen=True)
class Point:
    """A point to measure: rates in kbit/s, sizes in bytes; `buffer` has the packet in transmission; `delay_us` of a round trip, a multiple of 8;
    `red`: the queue marks from 30,000 B on; `changes`: lines of a shell, by host."""

    senders: int
    law: str
    rto_min_ms: int = 200
    port_kbit: int = 200_000
    server_kbit: int = 1_000_000
    delay_us: int = 0
    buffer: int = 65_536
    sru: int = 32_768
    seconds: int = 3
    red: bool = False
    changes: tuple[tuple[str, str], ...] = ()
    captured: bool = False

    def line(self, number):
        return f"{number} {self.senders} {self.sru} {self.seconds} {int(self.captured)}\n"

    def setup(self):
        """Text of each file for `ip`, `tc` and `sysctl`."""
        settings = {
            "link.rate": f"{self.server_kbit} kbit/s", "link.client_rate": f"{self.port_kbit} kbit/s", "link.delay": f"{self.delay_us * 250} ns",
            "switch.buffer": f"{self.buffer - FRAME} B", "tcp.rto_min": f"{self.rto_min_ms} ms"} | (RED if self.red else {})
        return setup(SCENARIO, SCHEMES[self.law] + "+red+ecn" * self.red, self.senders, "own", settings)["files"]


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"linux: `{' '.join(map(str, command))}` failed:\n{done.stdout[-2000:]}")
    return done.stdout


def install():
    """The packages that are missing."""
    missing = [name for name in PACKAGES if subprocess.run(["dpkg", "-s", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode]
    if missing:
        if os.geteuid() != 0:
            raise SystemExit(f"linux: install {' '.join(missing)} first: that needs root")
        print(f"linux: installing {' '.join(missing)}", flush=True)
        run("apt-get", "-qq", "update")
        run("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends", *missing,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def archive(root, file):
    """A compressed initramfs of a folder's files."""
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*"))) + "\n"
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), check=True, stdout=subprocess.PIPE)
    part = file.with_suffix(".part")
    part.write_bytes(subprocess.run(["gzip", "-1"], input=packed.stdout, check=True, stdout=subprocess.PIPE).stdout)
    part.rename(file)


def copy_program(program, root):
    """A program with the libraries that it is linked to."""
    real = pathlib.Path(program).resolve()
    libraries = [word for word in run("ldd", real).split() if word.startswith("/")]
    for source, target in [(real, program), *((library, library) for library in libraries)]:
        place = root / str(target).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pathlib.Path(source).resolve(), place)


def kernel():
    """Debian's kernel with its modules, as its package has them: the folder, and its version."""
    folder = BUILD / "kernel"
    if not folder.exists():
        depends = run("apt-cache", "depends", "linux-image-amd64")
        package = next(line.split()[-1] for line in depends.splitlines() if "Depends:" in line)
        print(f"linux: fetching {package}", flush=True)
        if os.geteuid() == 0:
            run("apt-get", "-qq", "update")
        with tempfile.TemporaryDirectory(dir=BUILD) as part:
            run("apt-get", "-qq", "download", package, cwd=part)
            (deb,) = pathlib.Path(part).glob("*.deb")
            run("dpkg", "-x", deb, pathlib.Path(part) / "kernel")
            run("depmod", "-b", pathlib.Path(part) / "kernel", package.removeprefix("linux-image-"))
            (pathlib.Path(part) / "kernel").rename(folder)
    (image,) = (folder / "boot").glob("vmlinuz-*")
    return folder, image.name.removeprefix("vmlinuz-")


def build():
    """The kernel and the machine's files, which are rebuilt if older than their sources."""
    install()
    BUILD.mkdir(parents=True, exist_ok=True)
    debian, version = kernel()
    image, files = debian / "boot" / f"vmlinuz-{version}", BUILD / "initrd.gz"
    sources = [HERE / "machine.py", HERE / "reads.c", HERE / "guest.sh"]
    if files.exists() and all(files.stat().st_mtime > source.stat().st_mtime for source in sources):
        return image, files
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        root = pathlib.Path(folder)
        for name in "bin proc sys dev run modules etc".split():
            (root / name).mkdir()
        (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\n")
        shutil.copy("/bin/busybox", root / "bin")
        for applet in APPLETS:
            (root / "bin" / applet).symlink_to("busybox")
        for program in PROGRAMS:
            copy_program(program, root)
        run("gcc", "-O2", "-static", "-Wall", "-Werror", "-o", root / "reads", HERE / "reads.c")
        shutil.copy(HERE / "guest.sh", root / "init")
        (root / "init").chmod(0o755)
        order = []
        for module in MODULES:
            needed = run("modprobe", "-d", debian, "-S", version, "--show-depends", module)
            paths = [pathlib.Path(line.split()[1]) for line in needed.splitlines() if line.startswith("insmod")]
            order += [path for path in paths if path not in order]
        for path in order:
            shutil.copy(path, root / "modules")
        (root / "modules" / "order").write_text("".join(f"{path.name}\n" for path in order if path.name != DCTCP))
        # Where `modprobe` looks for it.
        of_kernel = root / "lib" / "modules" / version
        of_kernel.mkdir(parents=True)
        (root / "modules" / DCTCP).rename(of_kernel / DCTCP)
        (of_kernel / "modules.dep").write_text(f"{DCTCP}:\n")
        archive(root, files)
    return image, files


def measure(points):
    """Measurements of each point in order, with the output of its changes on the first server and the client, and the kernel's version.
    "captures" has the captures: pcap, compressed by gzip."""
    image, files = build()
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        root = pathlib.Path(folder)
        (root / "more").mkdir()
        (root / "more" / "points").write_text("".join(point.line(number) for number, point in enumerate(points)))
        for number, point in enumerate(points):
            folder = root / "more" / f"point-{number}"
            folder.mkdir()
            for name, text in (point.setup() | {f"change-{host}": lines for host, lines in point.changes}).items():
                (folder / name).write_text(text)
        archive(root / "more", root / "more.gz")
        # Later files of an initramfs replace earlier ones.
        (root / "initrd").write_bytes(files.read_bytes() + (root / "more.gz").read_bytes())
        machine = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm",
             "-smp", "1", "-m", "2048", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
             "-kernel", image, "-initrd", root / "initrd",
             "-append", "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        figures, version, said, of_change, lines = [], None, [], [], None
        try:
            for line in machine.stdout:
                said = [*said[-20:], line]
                kind, _, rest = line.strip().partition(" ")
                if kind == "CAPTURED":
                    lines = []
                elif kind == "END":
                    # It is of the point that was measured last.
                    figures[-1].setdefault("captures", {})[rest], lines = base64.b64decode("".join(lines)), None
                elif lines is not None:
                    lines.append(line.strip())
                elif kind == "KERNEL":
                    version = rest
                elif kind == "MEASURED":
                    point = points[len(figures)]
                    try:
                        figures.append(json.loads(rest))
                    except ValueError:
                        raise SystemExit(f"linux: the machine said what is no JSON: {rest}") from None
                    figures[-1]["said"], of_change = of_change, []
                    print(f"linux: {dataclasses.replace(point, changes=())}{' changed' * bool(point.changes)}: {figures[-1]['goodput_mbps']} Mbit/s", flush=True)
                elif kind == "CHANGED":
                    of_change.append(rest)
                elif kind == "FAILED":
                    raise SystemExit(f"linux: a line of a change failed: {''.join(said)}")
        finally:
            machine.kill()
            machine.wait()
    if len(figures) < len(points):
        raise SystemExit(f"linux: the machine measured {len(figures)} of {len(points)} points; it said last:\n{''.join(said)}")
    return figures, version
