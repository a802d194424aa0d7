#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The number of processes does not change what is learned: the same bits with exact reduction, the
same up to rounding with fast."""

from pathlib import Path

import harness


class Ranks(harness.Case):
    def setUp(self):
        super().setUp()
        # Four units: the order in which two are added could not show.
        self.config({"cycle.steps": "6, 4", "cycle.batch": "8"})
        self.succeed("generate", "--config", "small.cfg")

    def train(self, ranks, *options):
        """@return metrics without times; `ranks` 0 is the program without mpiexec."""
        directory = f"run{ranks}"
        result = self.succeed("train", "--config", "small.cfg", "--run.directory", directory,
                              *options, ranks=ranks)
        self.assertIn(f"training on {max(ranks, 1)} process", result.err)
        return self.timeless_metrics(directory)

    def expect_same_bits(self, *options):
        alone = self.train(0, *options)
        self.assertEqual(len(harness.losses(alone)), 10)
        for ranks in (1, 2, 3):
            self.assertEqual(self.train(ranks, *options), alone, f"{ranks} processes")

    def test_default(self):
        self.expect_same_bits()

    def test_last_unit_is_not_full(self):
        self.expect_same_bits("--cycle.batch", "5", "--train.micro_batch_size", "2")

    def test_fewer_units_than_ranks(self):
        self.expect_same_bits("--cycle.batch", "3", "--train.micro_batch_size", "2")

    def test_one_unit(self):
        self.expect_same_bits("--cycle.batch", "2", "--train.micro_batch_size", "2")

    def test_batches_per_process(self):
        alone = self.train(0)
        options = ("--cycle.batch", "4", "--cycle.batch_is", "per_process")
        says = "cycle.batch_is = per_process on 2 processes: the global batch is cycle.batch = 8"
        dry = self.succeed("train", "--config", "small.cfg", "--dry-run", *options, ranks=2)
        self.assertIn(says, dry.err)
        self.assertRegex(dry.out, r"\n1 +8\^3 +6 steps +8 ")
        self.assertEqual(self.train(2, *options), alone)
        # The same run, however its batch is given; with another batch it is another.
        go_on = ("train", "--config", "small.cfg", "--run.directory", "run2")
        self.assertIn("holds the finished run", self.succeed(*go_on).err)
        other = self.run_program(*go_on, *options, ranks=3)
        self.assertNotEqual(other.status, 0)
        self.assertIn("'cycle.batch = 8' there, 'cycle.batch = 12' now", other.err)

    def test_verify_refuses_batches_that_follow_the_processes(self):
        result = self.run_program("verify", "--config", "small.cfg", "--cycle.batch_is", "per_process")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("cycle.batch_is = per_process lets the batch follow", result.err)

    def test_single_precision_and_group_norm(self):
        self.expect_same_bits("--train.precision", "f32", "--network.norm", "group")

    def test_activation_checkpointing_and_samples_on_the_fly_change_no_bit(self):
        stored = self.train(0)
        self.succeed("generate", "--config", "small.cfg", "--data.directory", "fresh",
                     "--data.on_the_fly", "yes")
        self.assertFalse((self.scratch / "fresh/train").exists())
        for ranks in (2, 3):
            self.assertEqual(stored, self.train(ranks, "--train.recompute", "yes",
                                                "--data.directory", "fresh",
                                                "--data.on_the_fly", "yes"), f"{ranks} processes")

    def test_references_cannot_be_made_on_the_fly(self):
        result = self.run_program("train", "--config", "small.cfg", "--data.on_the_fly", "yes",
                                  "--train.loss", "supervised", "--data.train_references", "yes")
        self.assertNotEqual(result.status, 0)
        self.assertIn("data.on_the_fly = no", result.err)

    def test_one_process_of_a_launcher_starts_others(self):
        out = self.succeed("verify", "--config", "small.cfg", "--ranks", "1,2", "--steps", "1",
                           ranks=1, timeout=150).out
        self.assertIn("identical", out)

    def test_another_mpis_launcher_is_told(self):
        result = self.start_by_hand(("PMI_RANK=0", "PMI_SIZE=2"), "generate", "--config", "small.cfg")
        self.assertEqual(result.status, 1, result.text)
        self.assertRegex(result.err, "started 2 processes, but this one sees 1.*Open MPI")

    def start_by_hand(self, variables, *arguments):
        """The program in the environment that a launcher would leave."""
        launcher = ["env", *variables, *harness.command_line(arguments, 0)]
        return harness.Process(self.scratch, (), launcher=launcher).wait(30)

    def test_launchers_without_mpi_are_told(self):
        torchrun = ("RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "MASTER_ADDR=localhost")
        srun = ("SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_NUM_TASKS=2")
        for variables in (torchrun, srun):
            for command in ("generate", "train"):
                result = self.start_by_hand(variables, command, "--config", "small.cfg")
                self.assertEqual(result.status, 1, result.text)
                self.assertRegex(result.err, "(torchrun|srun) started 2 processes that do not know of each "
                                             f"other.*mpirun -n 2 voxcycle {command} .*srun --mpi=pmix -n 2")
        self.assertFalse((self.scratch / "run").exists())
        result = self.start_by_hand(srun, "info")
        self.assertEqual(result.status, 0, result.text)
        self.assertIn("each works alone", result.err)

    def test_one_process_of_a_launcher_without_mpi_works_alone(self):
        for variables in (("RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "MASTER_ADDR=localhost"),
                          ("SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_STEP_NUM_TASKS=1"),
                          ("SLURM_PROCID=0", "SLURM_NTASKS=2")):  # a batch script
            result = self.start_by_hand(variables, "generate", "--config", "small.cfg")
            self.assertEqual(result.status, 0, result.text)
            self.assertNotIn("know of each other", result.err)

    def start_apart(self, *commands):
        """One job of a process for each command line."""
        launcher = [harness.MPIEXEC]
        for command in commands:
            launcher += ([":"] if launcher[1:] else []) + ["-n", "1", *command]
        return harness.Process(self.scratch, (), launcher=launcher).wait(30)

    def test_the_option_that_differs_is_named(self):
        train = harness.command_line(("train", "--config", "small.cfg"), 0)
        self.config({"cycle.steps": "6, 4", "cycle.batch": "6"}, "other.cfg")
        for other, words in (
                ([harness.BINARY, "train", "--config", "other.cfg"],
                 "the option cycle.batch: rank 0 has '8', rank 1 has '6' (differing ranks: 1)"),
                ([*train, "--fresh"], "the option --fresh: rank 0 has none, rank 1 has 'yes'"),
                ([*train, "--dump-config"], "the option --dump-config"),
                ([*train, "--run.threads", "2"], "the threads per process: rank 0 has 1, rank 1 has 2"),
                (harness.command_line(("generate", "--config", "small.cfg"), 0),
                 "the command: rank 0 has train, rank 1 has generate")):
            result = self.start_apart(train, other)
            self.assertNotEqual(result.status, 0, result.text)
            self.assertIn("the ranks do not agree on " + words, result.err)
        # What a machine may have of its own.
        (self.scratch / "copy").symlink_to("data")
        result = self.start_apart(train, [*train, "--data.directory", "copy", "--run.memory_limit", "1"])
        self.assertEqual(result.status, 0, result.text)

    def test_another_build_is_named(self):
        commit = self.succeed("--version").out.split()[-1]
        if commit == "unknown":
            self.skipTest("built outside of a repository")
        code = Path(harness.BINARY).read_bytes()
        self.assertIn(commit.encode(), code)
        other = self.scratch / "other"
        other.write_bytes(code.replace(commit.encode(), b"0" * len(commit)))
        other.chmod(0o755)
        generate = ("generate", "--config", "small.cfg")
        result = self.start_apart([harness.BINARY, *generate], [str(other), *generate])
        self.assertNotEqual(result.status, 0, result.text)
        self.assertRegex(result.err, f"do not agree on the build: rank 0 has .*commit {commit}, rank 1 has .*commit 000")

    def test_verify_refuses_a_launcher_that_starts_processes_apart(self):
        result = self.run_program("verify", "--config", "small.cfg", "--ranks", "1,2", "--steps", "1",
                                  "--launcher", "env A={}")
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("started 1 processes that know of each other instead of 2", result.err)

    def test_fast_reduction(self):
        exact = [float(x) for x in harness.losses(self.train(0))]
        for ranks in (0, 2, 3):
            fast = harness.losses(self.train(ranks, "--train.reduction", "fast", "--fresh"))
            self.assertEqual(len(fast), len(exact))
            for step, (a, b) in enumerate(zip(map(float, fast), exact)):
                # bf16 activations turn a last bit of a float sum into 2^-8 of an activation.
                self.assertAlmostEqual(a / b, 1, delta=1e-3, msg=f"{ranks} processes, step {step}")


if __name__ == "__main__":
    harness.main()
