#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Wrong configs, wrong command lines, wrong and damaged files: an error within seconds that says
what is wrong and what to do, from all processes, and nothing half-written."""

import hashlib
import re
import shutil

import harness
from harness import Refusal


class CommandLine(Refusal):
    def test_commands_and_options(self):
        cases = [
            (("trian",), ["unknown command 'trian'", "train"]),
            (("train", "--config"), "--config needs a value"),
            (("train", "--config", "none.cfg"), "cannot read the config none.cfg"),
            (("train", "--config", "."), ". is a directory, not a config"),
            (("train", "--fast"), ["unknown option --fast", "train --help"]),
            (("train", "small.cfg"), "unexpected argument 'small.cfg'"),
            (("train", "--cycle.batch"), "--cycle.batch needs a value"),
            (("evaluate", "--config", "small.cfg", "--fresh"), "unknown option --fresh"),
            (("train", "--cycle.bach", "8"), ["'cycle.bach'", "cycle.batch"]),
            (("train", "--fresh=no"), "--fresh takes no value"),
            (("train", "--run.directory", "--dry-run"), ["needs a value, but --dry-run follows",
                                                         "--run.directory=--dry-run"]),
            (("train", "--run.directory", ""), "run.directory is empty"),
            (("generate", "--data.directory="), "data.directory is empty"),
            (("train", "--run.directory", "runs/#1"), "holds a #"),
            (("solve", "--nu", "nu.npy", "--bc", ""), ["--bc is empty", "leave it out"]),
            (("solve", "--nu", "nu.npy", "--png="), "--png is empty"),
            (("verify", "--processes", "1,2"), ["unknown option --processes", "--ranks"]),
            (("generate", "--cycle.levels", "4194304"), ["cycle.levels", "<= 65536"]),
            (("generate", "--data.held_out_samples", "99999999999"), ["data.held_out_samples", "<= 1e+09"]),
            (("train", "--dry-run", "--data.held_out_samples", "99999999999"),
             ["data.held_out_samples", "<= 1e+09"]),
            (("generate", "--data.train_samples", "1000000000"), ["are 1953125 files", "data.shard_samples"]),
            (("generate", "--data.train_samples", "1000000000", "--data.shard_samples", "1000000",
              "--cycle.levels", "64, 128"), ["free space", "data.train_samples"]),
            (("train", "--dry-run", "--data.family", "abc"), ["'abc'", "kl"]),
            (("scale", "--processes", "1000000"), ["memory", "--launcher"]),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                self.refuse(*arguments, expect=expect)

    def test_config_files(self):
        cases = [
            ("[cycle]\nbach = 8\n", ["'cycle.bach'", "cycle.batch"]),
            ("[cykle]\nbatch = 8\n", ["'cykle.batch'", "cycle.batch"]),
            ("batch = 8\n", "'batch'"),
            ("[cycle]\nbatch = 8\nrate = 1\nbatch = 4\n", "cycle.batch stands there twice"),
            ("[case.a]\ncycle.batch = 8\n[case.a]\ncycle.batch = 4\n", "[case.a] stands there twice"),
            ("[cycle]\nthis is no line\n", "key = value"),
            ("\x00\x01\x02\n", "key = value"),
        ]
        for text, expect in cases:
            (self.scratch / "bad.cfg").write_text(text)
            with self.subTest(text=text):
                error = self.refuse("generate", "--config", "bad.cfg", expect=expect)
                self.assertIn("bad.cfg", error)

    def test_values(self):
        self.succeed("generate", "--config", "small.cfg")
        cases = [
            ("cycle.batch", "0", ">= 1"),
            ("cycle.batch", "-8", ">= 1"),
            ("cycle.batch", "8.5", "8.5"),
            ("cycle.batch", "4, 4, 4", "3 entries for 2 levels"),
            ("cycle.batch_is", "local", "global, per_process"),
            ("cycle.rate", "fast", "number"),
            ("cycle.rate", "nan", "number"),
            ("cycle.rate", "-1", ">= 0"),
            ("cycle.warm_up", "1", "[0, 1)"),
            ("cycle.steps", "0", ["stage 1 (8^3)", "no budget"]),
            ("cycle.steps", "4, 0", ["stage 2 (16^3)", "no budget"]),
            ("cycle.levels", "", "cycle.levels is empty"),
            ("cycle.levels", "16, 8", "coarsest level first"),
            ("cycle.levels", "8, 20", "20"),
            ("cycle.name", "x", ["cycle", "half_v"]),
            ("train.precision", "f8", "bf16, f16, f32, f64"),
            ("train.loss_scale", "1000", "no power of two"),
            ("train.layout", "channels_first", "channels_last, default"),
            ("train.reduction", "x", "exact, fast"),
            ("train.micro_batch_size", "0", ">= 1"),
            ("train.beta1", "1", "< 1"),
            ("train.adam_epsilon", "0", ">= 1e-20"),
            ("train.momentum", "-0.1", ">= 0"),
            ("train.average_horizon", "0", ">="),
            ("train.start", "nowhere", ["train.start", "holds no finished run", "Train that"]),
            ("train.loss", "x", ["loss", "energy_normalised"]),
            ("train.optimizer", "x", ["optimiser", "adam, lbfgs, muon, sgd"]),
            ("train.rate_scaling", "cubic", "none, sqrt"),
            ("lbfgs.pairs", "0", ">= 1"),
            ("lbfgs.samples", "-1", ">= 0"),
            ("lbfgs.start", "x", "adam, identity"),
            ("lbfgs.statistics", "x", "batch, running"),
            ("lbfgs.overlap", "1", "< 1"),
            ("network.name", "x", ["network", "multigrid, published, unet"]),
            ("network.norm", "x", ["norm", "sync_batch"]),
            ("network.channels", "16:8, 32:8", ["8^3", "let them be 4, 8 in network.channels"]),
            ("network.channels", "4:8, 16:8", "double"),
            ("network.channels", "8, 16", "voxels:channels"),
            ("network.channels", "4:0, 8:8, 16:8", ">= 1"),
            ("network.depth", "0", ">= 1"),
            ("network.base_channels", "0", ">= 1"),
            ("network.adaptation", "maybe", "deepen, no"),
            ("problem.boundary", "1, 0", "6"),
            ("problem.boundary", "1, nan, flux, flux, flux, flux", "problem.boundary"),
            ("problem.source", "w", ["problem.source", "sampled"]),
            ("problem.source", "inf", "problem.source"),
            ("problem.source", "nowhere.npy", ["problem.source", "nowhere.npy"]),
            ("train.freeze", "4", ["train.freeze", "Name the run to begin with"]),
            ("train.freeze", "all", ["train.freeze", "whole number"]),
            ("data.workers", "0", ["data.workers", ">= 1"]),
            ("data.modes", "7", "<= 6"),
            ("data.train_references", "maybe", "no, yes"),
            ("data.reference", "x", ["data.reference", "fft, multigrid"]),
            ("data.family", "x", "kl, grf, inclusions, file"),
            ("data.covariance", "x", ["data.covariance", "exponential, gaussian"]),
            ("data.correlation_length", "1", ["data.correlation_length", "<= 0.5"]),
            ("data.variance", "0", "data.variance"),
            ("data.band", "129", ["data.band", "<= 128"]),
            ("data.shape", "x", ["data.shape", "both, boxes, spheres"]),
            ("data.inclusions", "5, 2", ["data.inclusions", "rising"]),
            ("data.inclusions", "2.5", ["data.inclusions", "whole"]),
            ("data.inclusions", "0, 2", ["data.inclusions", ">= 1"]),
            ("data.radius", "0.1, 0.2, 0.3", ["data.radius", "range"]),
            ("data.radius", "0.6", ["data.radius", "<= 0.5"]),
            ("data.contrast", "1e7", ["data.contrast", "<= 1e+06"]),
            ("run.device", "gpu", "auto, cpu, cuda"),
            ("run.threads", "-1", ">= 0"),
            ("run.memory_limit", "-1", ">= 0"),
            ("run.memory_limit", "much", "number"),
        ]
        for key, value, expect in cases:
            with self.subTest(key=key, value=value):
                self.refuse_train(f"--{key}", value, expect=expect)
                self.assertFalse((self.scratch / "run" / "checkpoint.h5").exists())

    def test_problems_without_a_solution_or_a_scale(self):
        free = ("--problem.boundary", ", ".join(["flux"] * 6))
        self.refuse("generate", "--config", "small.cfg", *free, "--problem.source", "1",
                    expect=["problem.source", "zero flux on all six faces"])
        equal = ("--problem.boundary", "2, 2, flux, flux, flux, flux")
        self.succeed("generate", "--config", "small.cfg", *equal)
        self.refuse_train(*equal, expect=["energy_multigrid", "set a source"])

    def test_custom_path(self):
        self.succeed("generate", "--config", "small.cfg")
        for path, expect in (("1, 3", "level 3"), ("", "cycle.path"), ("0, 1", ">= 1")):
            with self.subTest(path=path):
                self.refuse_train("--cycle.name", "custom", "--cycle.path", path, expect=expect)
        self.refuse_train("--cycle.path", "1, 2", expect=["'half_v'", "cycle.name = custom"])

    def test_a_unet_too_deep_for_the_coarsest_level(self):
        self.succeed("generate", "--config", "small.cfg")
        self.refuse_train("--network.name", "unet", "--network.depth", "4",
                          expect=["8^3", "4 times", "network.depth"])

    def test_published_unets_that_do_not_fit(self):
        self.succeed("generate", "--config", "small.cfg")
        published = ("--network.name", "published")
        for options, expect in (
                ((), ["8^3", "network.depth to 3"]),
                (("--network.depth", "3"), ["8^3", "one voxel", "instance"]),
                (("--network.adaptation", "yes"), ["network.adaptation = yes", "deepen"]),
                (("--network.depth", "2", "--network.adaptation", "deepen", "--cycle.levels",
                  "8, 12"), ["deepened to level 12^3", "cycle.levels"]),
                (("--problem.source", "1"), ["network.name = published", "problem.source = 0"]),
                (("--network.coarse", "black_box"), ["network.name = multigrid"])):
            with self.subTest(options=options):
                self.refuse_train(*published, *options, expect=expect)
        self.refuse_train("--network.name", "unet", "--network.adaptation", "deepen",
                          expect=["network.adaptation = deepen", "network.name = published"])

    def test_what_does_not_fit_into_memory(self):
        fine = ("--network.channels", "64:8, 128:8, 256:8, 512:4, 1024:2", "--cycle.steps", "5",
                "--train.micro_batch_size", "1", "--run.memory_limit", "24")
        cases = [
            (("--cycle.levels", "64, 512", *fine),
             ["stage 2 (512^3) needs", "24.0 GiB are available", "run.memory_limit",
              "would fit: ", "cycle.batch = ", " or "]),
            (("--cycle.levels", "64, 1024", *fine),
             ["stage 2 (1024^3)", "2147483647", "network.channels of level 1024 to 1"]),
            ((*fine, "--cycle.levels", "64, 512", "--network.channels", "64:8, 128:8, 256:8, 512:16"),
             ["stage 2 (512^3)", "2147483647", "network.channels of level 512 to 15"]),
            (("--run.memory_limit", "0.01"), ["stage 1 (8^3) needs", "10.2 MiB"]),
            # Weights that cannot even be made.
            (("--network.name", "unet", "--network.base_channels", "4096"),
             ["stage 1 (8^3) needs", "TiB"]),
        ]
        for options, expect in cases:
            with self.subTest(options=options):
                self.refuse_train(*options, expect=expect)
                self.refuse_train("--dry-run", *options, expect=expect)
                self.assertFalse((self.scratch / "run").exists())
        self.refuse("bench", "step", "--config", "small.cfg", *fine, "--grid", "512", "--batch", "4",
                    expect=["a step at 512^3 needs", "24.0 GiB"])

    def test_on_two_processes_one_speaks(self):
        error = self.refuse_train("--cycle.batch", "0", ranks=2, expect=["cycle.batch", "rank 0: on "])
        self.assertNotIn("rank 1", error)


class Data(Refusal):
    """Shards that are missing, damaged, or not what the config says."""

    def setUp(self):
        super().setUp()
        self.succeed("generate", "--config", "small.cfg")
        self.shard = self.scratch / "data/train/8x8x8/shard-00001-of-00003.h5"

    def refuse_shard(self, expect, ranks=2):
        self.refuse_train(ranks=ranks, expect=[self.shard.name, *expect])
        self.assertFalse((self.scratch / "run" / "metrics.csv").exists(), "training began")

    def test_missing(self):
        shutil.rmtree(self.scratch / "data/train/16x16x16")
        # Before the first stage, not when the second begins.
        self.refuse_train(ranks=2, expect=["data/train/16x16x16", "Run voxcycle generate"])
        self.shard.unlink()
        self.refuse_shard(["missing", "Run voxcycle generate"])
        shutil.rmtree(self.scratch / "data")
        self.refuse_train(ranks=2, expect=["data/train/8x8x8", "Run voxcycle generate"])
        self.assertFalse((self.scratch / "run" / "DONE").exists())
        # What the message says helps.
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg", ranks=2)

    def test_truncated(self):
        whole = self.shard.read_bytes()
        for size in (len(whole) - 1, len(whole) // 2, 100, 0):
            self.shard.write_bytes(whole[:size])
            with self.subTest(size=size):
                self.refuse_shard(["truncated"])
                self.refuse("generate", "--config", "small.cfg", expect=self.shard.name)

    def test_text(self):
        self.shard.write_text("no shard\n" * 100)
        self.refuse_shard(["HDF5"])

    def test_foreign_hdf5(self):
        self.succeed("train", "--config", "small.cfg", "--run.directory", "other")
        shutil.copy(self.scratch / "other/checkpoint.h5", self.shard)
        self.refuse_shard(["no voxcycle-shard"])
        self.refuse("evaluate", "--config", "small.cfg", "--run.directory", "other", "--checkpoint",
                    "data/held_out/8x8x8/shard-00000-of-00001.h5", expect="no voxcycle-archive")

    def test_another_grid(self):
        coarse = self.scratch / "data/train/8x8x8"
        fine = self.scratch / "data/train/16x16x16"
        shutil.copy(fine / self.shard.name, self.shard)
        self.refuse_shard(["grid"])
        for path in fine.iterdir():
            shutil.copy(path, coarse / path.name)
        self.refuse_train(ranks=2, expect=["data/train/8x8x8", "grid 16x16x16"])

    def test_another_split(self):
        # Held-out samples must never be trained on.
        shutil.rmtree(self.scratch / "data/train/8x8x8")
        shutil.copytree(self.scratch / "data/held_out/8x8x8", self.scratch / "data/train/8x8x8")
        self.refuse_train(expect=["data/train/8x8x8", "split"])

    def test_another_count(self):
        shutil.copy(self.shard, self.shard.with_name("shard-00000-of-00007.h5"))
        self.refuse_train(expect="data/train/8x8x8")

    def test_config_of_other_data(self):
        cases = [
            ("data.modes", "6", "family"),
            ("data.omega_range", "1", "family"),
            ("data.seed", "7", "seed"),
            ("data.train_samples", "8", "samples"),
            ("problem.boundary", "1, 2, flux, flux, flux, flux", "boundary"),
            ("problem.source", "1", "source"),
            ("problem.source", "sampled", "source"),
        ]
        for key, value, expect in cases:
            with self.subTest(key=key):
                self.refuse_train(f"--{key}", value, expect=["data/train/8x8x8", expect])
                if key != "data.train_samples":
                    self.refuse("generate", "--config", "small.cfg", f"--{key}", value,
                                expect=["holds other data (" + expect, " there, "])

    def test_another_number_of_shards(self):
        files = sorted(self.scratch.rglob("*.h5"))
        self.refuse("generate", "--config", "small.cfg", "--data.shard_samples", "1",
                    expect=["is one of", "another data.directory"])
        self.assertEqual(sorted(self.scratch.rglob("*.h5")), files)

    def test_training_without_the_references_that_its_loss_needs(self):
        # Before the first step, on all ranks; then what the message says helps.
        self.refuse_train("--train.loss", "supervised", ranks=2,
                          expect=["supervised", "8x8x8", "data.train_references = yes"])
        self.assertFalse((self.scratch / "run" / "metrics.csv").exists(), "training began")
        more = ("--config", "small.cfg", "--data.train_references", "yes")
        self.refuse("generate", *more, expect="holds other data (references no there, yes in")
        self.succeed("generate", *more, "--data.directory", "more")
        self.succeed("train", *more, "--data.directory", "more", "--train.loss", "supervised")

    def test_a_rank_alone_meets_a_damaged_sample(self):
        # One step of four samples, each in its own shard, two to a rank.
        self.config({"data.directory": "few", "data.train_samples": "4", "data.shard_samples": "1",
                     "cycle.steps": "1"})
        self.succeed("generate", "--config", "small.cfg")
        shards = sorted((self.scratch / "few/train/8x8x8").iterdir())
        self.assertEqual(len(shards), 4)
        speakers = []
        for k, shard in enumerate(shards):
            whole = shard.read_bytes()
            harness.damage_nu(shard, shards[k - 1])
            error = self.refuse_train("--run.directory", f"run{k}", ranks=2,
                                      expect=[shard.name, "checksum"])
            speakers.append(re.search(r"rank (\d): on", error)[1])
            shard.write_bytes(whole)
        self.assertEqual(sorted(speakers), ["0", "0", "1", "1"])


class Runs(Refusal):
    """Run directories that are not what the command wants."""

    def setUp(self):
        super().setUp()
        self.succeed("generate", "--config", "small.cfg")

    def contents(self):
        """File names and digests, without the log."""
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest()
                for p in (self.scratch / "run").iterdir() if p.name != "log.txt"}

    def test_evaluate(self):
        self.refuse("evaluate", "--config", "small.cfg", expect=["run/checkpoint.h5", "Train first"])
        self.assertFalse((self.scratch / "run").exists())
        self.succeed("train", "--config", "small.cfg")
        before = self.contents()
        cases = [
            ("--network.channels", "4:8, 8:8, 16:4", "network.channels"),
            ("--network.norm", "group", "network.norm"),
            ("--network.name", "unet", "network.name"),
            ("--network.correction_scale", "2", "network.correction_scale"),
            ("--problem.boundary", "1, 2, flux, flux, flux, flux", "problem.boundary"),
            ("--problem.source", "1", "problem.source"),
            ("--problem.source", "sampled", "problem.source"),
            ("--data.seed", "7", "seed"),
            ("--data.directory", "none", "Run voxcycle generate"),
            ("--checkpoint", "none.h5", "none.h5"),
            ("--checkpoint", "small.cfg", "small.cfg"),
            ("--grid", "8x", "8x"),
            ("--grid", "-8", "-8"),
            ("--json", "run/checkpoint.h5", "would overwrite a file that is read (the checkpoint)"),
            ("--json", "small.cfg", "would overwrite a file that is read (--config)"),
            ("--grid", "64", "64"),
        ]
        for option, value, expect in cases:
            with self.subTest(option=option, value=value):
                self.refuse("evaluate", "--config", "small.cfg", option, value, expect=expect)
                self.assertEqual(self.contents(), before)
        export = ("export", "--config", "small.cfg")
        self.refuse(*export, "--out", "run/checkpoint.h5", expect="would overwrite a file that is read (the checkpoint)")
        self.refuse(*export, "--out", "m.pt", "--sample", "./m.pt", expect="are both")
        self.assertEqual(self.contents(), before)

    def test_train_over_a_run_of_another_config(self):
        self.succeed("train", "--config", "small.cfg")
        before = self.contents()
        self.refuse_train("--cycle.rate", "2e-2", ranks=2,
                          expect=["cycle.rate = 5e-2", "cycle.rate = 2e-2", "--fresh"])
        self.assertEqual(self.contents(), before, "a refused training leaves the run as it was")

    def test_a_run_does_not_start_from_itself(self):
        self.succeed("train", "--config", "small.cfg")
        before = self.contents()
        for fresh in ((), ("--fresh",)):
            self.refuse_train("--train.start", "./run", *fresh, expect=["train.start", "run.directory"])
            self.assertEqual(self.contents(), before)

    def test_damaged_checkpoint(self):
        self.succeed("train", "--config", "small.cfg")
        for checkpoint in (self.scratch / "run").glob("checkpoint*.h5"):
            whole = checkpoint.read_bytes()
            checkpoint.write_bytes(whole[:len(whole) // 2])
        self.refuse_train(ranks=2, expect="run/checkpoint.h5")
        self.refuse("evaluate", "--config", "small.cfg", expect="run/checkpoint.h5")

    def test_run_directory_cannot_be_made(self):
        (self.scratch / "file").write_text("")
        self.refuse_train("--run.directory", "file/run", ranks=2, expect="file/run")


if __name__ == "__main__":
    harness.main()
