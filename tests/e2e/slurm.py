#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""slurm/requeue.sh with stand-ins for scontrol and the program: which jobs go back into the queue
after Slurm's warning, and with which status the others end."""

import os
import signal
import subprocess
import time
from pathlib import Path

import harness

SCRIPTS = Path(__file__).resolve().parents[2] / "slurm"
REQUEUE = SCRIPTS / "requeue.sh"

# Ends with the status named once it is asked to stop; with none it goes on to its own end.
PROGRAM = """#!/usr/bin/env bash
stop() { exit "$1"; }
[[ $1 == none ]] || trap "stop $1" USR1
[[ $1 != none ]] || trap "" USR1
touch started
for _ in {1..40}; do sleep 0.05; done
exit "${2:-0}"
"""


class Slurm(harness.Case):
    def setUp(self):
        super().setUp()
        self.script("program", PROGRAM)
        self.script("scontrol", '#!/usr/bin/env bash\n'
                                'if [[ $1 == show ]]; then echo "   StartTime=2026-01-02T03:00:00 EndTime=Unknown "'
                                '"PreemptTime=${PREEMPTED:-None}"; '
                                'else echo "$@" >> requeued; fi\n')
        self.script("job", f"#!/usr/bin/env bash\nset -euo pipefail\nsource {REQUEUE}\n"
                           'run_or_requeue ./program "$@"\n')

    def script(self, name, text):
        path = self.scratch / name
        path.write_text(text)
        path.chmod(0o755)

    def job(self, *arguments, warned=True, job="7", **environment):
        """Status, and whether the job went back into the queue."""
        for name in ("started", "requeued"):
            (self.scratch / name).unlink(missing_ok=True)
        path = f"{self.scratch}:{os.environ['PATH']}"
        process = subprocess.Popen(
            ["./job", *arguments], cwd=self.scratch, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # which the guard's sleep would keep open
            env={**os.environ, "PATH": path, "SLURM_JOB_ID": "7", **environment})
        while not (self.scratch / "started").exists():
            time.sleep(0.01)
        if warned:
            process.send_signal(signal.SIGUSR1)
        status = process.wait(timeout=30)
        requeued = self.scratch / "requeued"
        if requeued.exists():
            self.assertEqual(requeued.read_text(), f"requeue {job}\n")
        return status, requeued.exists()

    def test_stopped_jobs_come_back_and_others_end(self):
        self.assertEqual(self.job("75"), (0, True))
        self.assertEqual(self.job("137"), (0, True))  # killed amid its checkpoint
        self.assertEqual(self.job("138"), (138, False))  # asked before it could answer: nothing gained
        self.assertEqual(self.job("1"), (1, False))
        self.assertEqual(self.job("0"), (0, False))
        self.assertEqual(self.job("none"), (0, False))  # finished in its last minute
        self.assertEqual(self.job("none", "3"), (3, False))
        self.assertEqual(self.job("0", "75", warned=False), (75, False))

    def test_a_task_of_an_array_comes_back_alone(self):
        self.assertEqual(self.job("75", job="7_3", SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID="3"),
                         (0, True))

    def test_preempted_jobs_come_back(self):
        preempted = {"warned": False, "PREEMPTED": "2026-01-02T03:04:05"}
        self.assertEqual(self.job("0", "75", **preempted), (0, True))
        self.assertEqual(self.job("0", "1", **preempted), (0, True))  # before its first shard
        self.assertEqual(self.job("0", "0", **preempted), (0, False))
        before = {**preempted, "PREEMPTED": "2026-01-01T03:04:05"}  # an earlier start
        self.assertEqual(self.job("0", "1", **before), (1, False))

    def test_outside_of_slurm_nothing_starts(self):
        (self.scratch / "slurm").symlink_to(SCRIPTS)
        outside = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        for name in ("train", "generate", "scale"):
            done = subprocess.run(
                ["bash", f"slurm/{name}.sbatch", "small.cfg"], cwd=self.scratch, capture_output=True, text=True,
                env={**outside, "VOXCYCLE": "./program", "VOXCYCLE_LAUNCHER": "env"})
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"Submit it: sbatch slurm/{name}.sbatch CONFIG", done.stderr)
            self.assertFalse((self.scratch / "started").exists())

    def test_only_srun_is_told_of_the_cores_of_a_process(self):
        for launcher, told in (("srun --mpi=pmix", "4"), ("mpirun", "none")):
            shown = subprocess.run(
                ["bash", "-c", f'source {REQUEUE}; echo "${{SRUN_CPUS_PER_TASK:-none}}"'],
                capture_output=True, text=True, check=True,
                env={**os.environ, "VOXCYCLE_LAUNCHER": launcher, "SLURM_CPUS_PER_TASK": "4"})
            self.assertEqual(shown.stdout.strip(), told)


if __name__ == "__main__":
    harness.main()
