# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of one's own: two nodes on this machine, with daemons, ports and files apart from those of
any Slurm that is there."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

NODES = ("node1", "node2")
CPUS = 2  # of each, whatever the machine has
PATH = os.environ.get("PATH", "") + ":/usr/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "srun")

CONFIG = """
ClusterName=voxcycle
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={root}/munge.socket,cred_expire=5
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/%n
TmpFS={root}/%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} Gres=gpu:1
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} Gres=gpu:1
PartitionName=all Nodes=ALL Default=YES
"""


def missing_programs():
    return [name for name in PROGRAMS if not shutil.which(name, path=PATH)]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Runs until stop(). Requeued jobs start after 5 s (cred_expire) instead of two minutes."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="voxcycle-slurm-", dir="/tmp"))  # short: it holds sockets
        self.root.chmod(0o755)  # or munged refuses to put its socket there
        self.daemons = []
        # Nothing of a job in which these tests may run.
        others = {name: value for name, value in os.environ.items()
                  if not name.startswith(("SLURM", "SBATCH", "SRUN"))}
        self.environment = {
            **others, "PATH": PATH, "SLURM_CONF": str(self.root / "slurm.conf"),
            # Processes of both nodes would take each other's shared memory for their own.
            "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}

    def start(self):
        self.write_files()
        key = self.root / "munge.key"
        self.start_daemon("munged", "-F", f"--key-file={key}", f"--socket={self.root}/munge.socket",
                          f"--pid-file={self.root}/munge.pid", f"--seed-file={self.root}/munge.seed")
        self.wait_until(lambda: (self.root / "munge.socket").exists(), 20)
        self.start_daemon("slurmctld", "-D")
        for node in NODES:
            self.start_daemon("slurmd", "-D", "-N", node)
        self.wait_until(lambda: self.ask("sinfo", "--noheader", "--format=%T %D").strip() == "idle 2", 40)

    def write_files(self):
        for name in (*NODES, "state"):
            (self.root / name).mkdir()
        key = self.root / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        (self.root / "slurm.conf").write_text(CONFIG.format(
            root=self.root, host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.getuid()).pw_name,
            ports=free_ports(1 + len(NODES)), cpus=CPUS))
        (self.root / "gres.conf").write_text("Name=gpu File=/dev/null\n")
        if not Path("/sys/fs/cgroup/cgroup.controllers").exists():
            (self.root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def start_daemon(self, *command):
        with open(self.root / "daemons.log", "a") as log:
            self.daemons.append(subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,  # Ctrl-C is for stop() to answer
                preexec_fn=end_with_parent))

    def ask(self, *command):
        """@return what a command prints, also where it fails."""
        return subprocess.run(command, env=self.environment, capture_output=True, text=True).stdout

    def wait_until(self, condition, timeout):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end or any(one.poll() is not None for one in self.daemons):
                log = (self.root / "daemons.log").read_text()
                raise AssertionError("Slurm does not start; its daemons say:\n" + log[-4000:])
            time.sleep(0.1)

    def stop(self):
        """Ends the daemons and all that they started, and leaves no file."""
        while processes := self.processes():
            for process in processes:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for one in self.daemons:
                one.poll()
            time.sleep(0.05)
        shutil.rmtree(self.root, ignore_errors=True)

    def processes(self):
        """Whoever inherited the place of our slurm.conf."""
        mark = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # ended, or another's
                pass
        return found


def end_with_parent():
    death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL)
