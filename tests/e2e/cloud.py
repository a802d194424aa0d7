#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slurm/cloud on machines that are network namespaces with a sshd each: the list is checked before the
first step, and a training that a preemption stopped ends with the bits of an uninterrupted one.

All of it happens in namespaces of the test's own, so that the kernel removes hosts, daemons and mounts
with it, however it ends."""

import os
import shutil
import signal
import subprocess
import sys
import unittest.mock
from pathlib import Path

import bundle
import harness

CLOUD = Path(__file__).resolve().parents[2] / "slurm/cloud"
APART = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
IN_NAMESPACES = "VOXCYCLE_TEST_IN_NAMESPACES"
STEPS = 24
MOST_SECONDS = 120  # of a start, a busy machine included
VENDORS = ("aws", "google", "azure")

# As the vendors document theirs: nothing (or FALSE, or no event) until `notice` exists.
METADATA = """
import http.server, os, sys
vendor, notice = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, text):
        self.send_response(200 if text else 404)
        self.end_headers()
        self.wfile.write(text.encode())
    def do_PUT(self):
        asked = vendor == "aws" and self.path == "/latest/api/token"
        self.answer("secret" if asked and self.headers["X-aws-ec2-metadata-token-ttl-seconds"] else "")
    def do_GET(self):
        given, name, text = os.path.exists(notice), self.headers.get, ""
        if vendor == "aws" and name("X-aws-ec2-metadata-token") == "secret":
            if self.path == "/latest/meta-data/spot/instance-action" and given:
                text = '{"action": "terminate", "time": "2026-01-01T00:00:00Z"}'
        elif vendor == "google" and name("Metadata-Flavor") == "Google":
            if self.path == "/computeMetadata/v1/instance/preempted":
                text = "TRUE" if given else "FALSE"
        elif vendor == "azure" and name("Metadata") == "true":
            if self.path.startswith("/metadata/scheduledevents?api-version="):
                event = '{"EventId": "1", "EventType": "Preempt", "ResourceType": "VirtualMachine"}'
                text = '{"DocumentIncarnation": 1, "Events": [' + event * given + "]}"
        self.answer(text)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("169.254.169.254", 80), Handler).serve_forever()
"""


def missing():
    """What keeps the test from running here, as a sentence; empty: nothing."""
    for program in ("ip", "unshare", "ssh", "curl", "/usr/sbin/sshd"):
        if not shutil.which(program):
            return (f"{program} is missing. Type apt-get install openssh-server openssh-client iproute2 "
                    "util-linux curl, then run this test as root.")
    if os.geteuid() != 0:
        return f"making network namespaces needs root. Type sudo {' '.join(sys.argv)}"
    make = "mount -t tmpfs none /run && ip netns add x && ip link add veth0 type veth peer name eth0 netns x && " \
           "ip link add bridge0 type bridge"
    tried = subprocess.run([*APART, "sh", "-c", make], capture_output=True, text=True, check=False)
    if tried.returncode:
        return (f"network namespaces cannot be made here ({tried.stderr.strip()}). Run it as root on a "
                "machine of its own, or in a container with --privileged.")
    return ""


def sh(*command):
    subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL)


class Cloud(harness.Case):
    @classmethod
    def setUpClass(cls):
        sh("mount", "-t", "tmpfs", "none", "/run")
        Path("/run/sshd").mkdir(mode=0o755)
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "netns", "add", "switch")
        sh("ip", "-n", "switch", "link", "add", "bridge", "type", "bridge")
        sh("ip", "-n", "switch", "link", "set", "bridge", "up")

    def setUp(self):
        super().setUp()
        self.keys = self.scratch / "keys"
        self.keys.mkdir()
        for key in ("host", "user"):
            sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.keys / key)
        known = self.keys / "known_hosts"
        known.write_text("* " + (self.keys / "host.pub").read_text())
        self.replace("/etc/ssh/ssh_config", f"IdentityFile {self.keys}/user\nIdentitiesOnly yes\n"
                     f"GlobalKnownHostsFile {known}\nUserKnownHostsFile none\n")
        self.names = ["127.0.0.1 localhost"]
        self.config({"cycle.levels": "8", "cycle.steps": STEPS, "network.channels": "4:8, 8:8",
                     "train.checkpoint_seconds": "0.01"})

    def replace(self, path, text):
        """Another content of a file of the system's, for this test's processes alone."""
        mine = self.scratch / ("mine" + path.replace("/", "-"))
        mine.write_text(text)
        sh("mount", "--bind", mine, path)
        self.addCleanup(sh, "umount", path)

    def host(self, name, before="true", settings=""):
        """A machine with a sshd. @param before  shell that changes what the machine sees"""
        number = len(self.names)
        self.addCleanup(sh, "ip", "netns", "del", name)
        sh("ip", "netns", "add", name)
        sh("ip", "-n", "switch", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        self.addCleanup(sh, "ip", "-n", "switch", "link", "del", name)
        sh("ip", "-n", "switch", "link", "set", name, "up", "master", "bridge")
        sh("ip", "-n", name, "addr", "add", f"10.99.0.{number}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            sh("ip", "-n", name, "link", "set", link, "up")
        self.names.append(f"10.99.0.{number} {name}")
        (self.keys / name).write_text(
            f"{settings}\nHostKey {self.keys}/host\nAuthorizedKeysFile {self.keys}/user.pub\nStrictModes no\n"
            f"PidFile none\nUsePAM no\nPermitRootLogin prohibit-password\n")
        self.boot(name, before)

    def boot(self, name, before="true"):
        daemon = f"{before} && exec /usr/sbin/sshd -D -f {self.keys / name}"
        self.background(self.on(name, "sh", "-c", daemon))
        harness.wait_for(lambda: self.listens(name, 22), 10)

    def lose(self, name):
        """What a machine does whose power fails."""
        for process in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True,
                                      check=True).stdout.split():
            os.kill(int(process), signal.SIGKILL)

    def on(self, name, *command):
        return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c",
                'hostname "$0" && exec "$@"', name, *map(str, command)]

    def background(self, command):
        process = harness.Process(self.scratch, [], launcher=command)
        self.addCleanup(process.close)
        return process

    def listens(self, name, port):
        sockets = subprocess.run(["ip", "netns", "exec", name, "cat", "/proc/net/tcp"],
                                 capture_output=True, text=True, check=True).stdout
        return f":{port:04X} 00000000:0000 0A" in sockets

    def launch(self, hosts, *arguments, program=None):
        """slurm/cloud/start.sh, under way on `one`."""
        (self.scratch / "hosts.txt").write_text("# the machines\n\n" + "".join(
            f"{name} slots=1\n" for name in hosts))
        path = f"{Path(harness.MPIEXEC).parent}:{os.environ['PATH']}"
        return self.background(self.on("one", "env", f"PATH={path}", f"VOXCYCLE={program or harness.BINARY}",
                                       CLOUD / "start.sh", "hosts.txt", *arguments))

    def refuse(self, hosts, *expected, status):
        result = self.launch(hosts, "train", "--config", "small.cfg").wait(MOST_SECONDS)
        self.assertEqual(result.status, status, result.text)
        self.assertEqual(len(result.err.splitlines()), len(expected), result.text)
        for line in expected:
            self.assertRegex(result.err, line)
        self.assertFalse((self.scratch / "run/log.txt").exists())
        self.assertEqual(list(self.scratch.rglob(".seen*")), [])

    def steps_done(self):
        metrics = self.scratch / "run/metrics.csv"
        return len(harness.losses(self.metrics())) if metrics.exists() else 0

    def ranks(self):
        """Process ids of the program wherever it runs."""
        return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/exe")
                if os.path.realpath(p) == os.path.realpath(harness.BINARY)]

    def offer(self, vendor, name):
        """The metadata of a cloud on a machine. @return the file whose presence is the notice."""
        notice = self.scratch / "notice"
        sh("ip", "-n", name, "addr", "add", "169.254.169.254/32", "dev", "lo")
        server = self.background(self.on(name, sys.executable, "-c", METADATA, vendor, notice))
        self.wait_until(server, lambda: self.listens(name, 80))
        return notice, server

    def test_a_lost_and_preempted_training_goes_on(self):
        for name in ("one", "two"):
            self.host(name)
        self.replace("/etc/hosts", "\n".join(self.names) + "\n")
        generated = self.launch(["one", "two"], "generate", "--config", "small.cfg").wait(MOST_SECONDS)
        self.assertEqual(generated.status, 0, generated.text)

        training = self.launch(["one", "two"], "train", "--config", "small.cfg")
        self.wait_until(training, lambda: self.steps_done() >= 2, MOST_SECONDS)
        self.lose("two")
        lost = training.wait(MOST_SECONDS)
        self.assertEqual(lost.status, harness.STOPPED, lost.text)
        self.assertIn("start: two was lost", lost.err)
        self.boot("two")
        reached = self.steps_done()

        notice, server = self.offer("aws", "two")
        training = self.launch(["one", "two"], "train", "--config", "small.cfg")
        self.wait_until(training, lambda: self.steps_done() >= reached + 2, MOST_SECONDS)
        # However fast it trains, the notice comes in its midst.
        ranks = self.ranks()
        self.assertEqual(len(ranks), 2)
        for rank in ranks:
            os.kill(rank, signal.SIGSTOP)
        notice.touch()
        self.wait_until(training, lambda: "Forwarding signal" in training.result(0).err)
        for rank in ranks:
            os.kill(rank, signal.SIGCONT)
        stopped = training.wait(MOST_SECONDS)
        self.assertEqual(stopped.status, harness.STOPPED, stopped.text)
        self.assertIn("start: two is being taken away", stopped.err)
        self.assertIn("stopping with a checkpoint", stopped.err)
        reached = self.steps_done()
        self.assertLess(reached, STEPS, "the notice came too late")

        server.close()
        training = self.launch(["one", "two"], "train", "--config", "small.cfg").wait(MOST_SECONDS)
        self.assertEqual(training.status, 0, training.text)
        self.assertIn(f"going on with stage 1 after {reached} of its steps", training.err)
        self.succeed("train", "--config", "small.cfg", "--run.directory", "whole")
        self.assertEqual(self.timeless_metrics(), self.timeless_metrics("whole"))
        for run in ("run", "whole"):
            self.succeed("evaluate", "--config", "small.cfg", "--run.directory", run)
        self.assertEqual(*((self.scratch / run / "evaluation.json").read_text() for run in ("run", "whole")))

    def test_the_list_is_checked_before_the_first_step(self):
        other = self.scratch / "other"
        other.write_text("#!/bin/sh\necho voxcycle 9.9.9, commit 123456789abc\n")
        slow = self.scratch / "slow"
        slow.mkdir()
        (slow / "date").write_text("#!/bin/sh\nexec /bin/date -d '100 seconds ago' \"$@\"\n")
        for program in (other, slow / "date"):
            program.chmod(0o755)
        (self.scratch / "run").mkdir()
        self.host("one")
        self.host("two")
        self.host("old", f"mount --bind {other} {harness.BINARY}")
        self.host("late", settings=f"SetEnv PATH={slow}:/usr/bin:/bin")
        self.host("alone", f"mount -t tmpfs none {self.scratch}/run")
        self.host("bare", f"mount -t tmpfs none {Path(harness.BINARY).parent}")
        self.host("strange", settings="AuthorizedKeysFile none")
        self.replace("/etc/hosts", "\n".join(
            [*self.names, "10.99.0.2 also-two", "10.99.0.99 gone"]) + "\n")

        self.refuse(["one", "two", "one"], r"hosts\.txt names twice: one\.", status=1)
        self.refuse(["one", "gone", "strange"],
                    r"gone cannot be reached \(.*No route to host\)\. .*ssh gone true",
                    r"strange cannot be reached \(.*Permission denied.*\)\. .*your key", status=harness.STOPPED)
        self.refuse(["one", "alone"], r"alone does not see run of .*--run\.directory", status=harness.STOPPED)
        self.refuse(["one", "two", "old", "also-two", "late", "bare"],
                    r"old has another build \(voxcycle 9\.9\.9, commit 123456789abc\) than one \(voxcycle ",
                    "also-two and two are one machine", r"the clock of late is -(99|1\d\d) s from",
                    r"bare cannot run voxcycle \(.*(No such file|not found).*\)\.", status=1)

    def test_a_bundle_runs_where_no_mpi_is_installed(self):
        made = self.scratch / "bundle"
        sh(CLOUD.parents[1] / "src/bundle/make.sh", Path(harness.BINARY).resolve().parent, made)
        self.host("one")
        daemon = Path(shutil.which("orted")).resolve()
        torch = bundle.torch_of(harness.BINARY)
        self.host("two", f"mount --bind /dev/null {daemon}", f"SetEnv VOXCYCLE_TORCH_WHEEL={torch}")
        self.replace("/etc/hosts", "\n".join(self.names) + "\n")
        told = {"VOXCYCLE_TORCH_WHEEL": str(torch)}
        with unittest.mock.patch.dict(os.environ, told):
            result = self.launch(["one", "two"], "info", program=made / "voxcycle").wait(MOST_SECONDS)
        self.assertEqual(result.status, 0, result.text)
        self.assertRegex(result.out, "processes +2, MPI")

    def test_each_cloud_gives_its_notice(self):
        self.host("one")
        for vendor in VENDORS:
            notice, server = self.offer(vendor, "one")
            waiting = subprocess.Popen(self.on("one", CLOUD / "notice.sh"), stdin=subprocess.PIPE)
            self.addCleanup(waiting.kill)
            with self.assertRaises(subprocess.TimeoutExpired, msg=vendor):
                waiting.wait(1)
            notice.touch()
            self.assertEqual(waiting.wait(10), 0, vendor)
            waiting.stdin.close()
            # It ends with whoever asked.
            notice.unlink()
            waiting = subprocess.Popen(self.on("one", CLOUD / "notice.sh"), stdin=subprocess.DEVNULL)
            self.assertEqual(waiting.wait(10), 1, vendor)
            server.close()
            sh("ip", "-n", "one", "addr", "del", "169.254.169.254/32", "dev", "lo")


if __name__ == "__main__":
    if IN_NAMESPACES not in os.environ:
        if sentence := missing():
            print(f"skipped: {sentence}")
            sys.exit(77)
        os.execvpe(APART[0], [*APART, sys.executable, *sys.argv], {**os.environ, IN_NAMESPACES: "1"})
    harness.main()
