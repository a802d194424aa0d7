#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands on GPUs, as users run them; the program is the one with emulated GPUs."""

import json
import os
from unittest import mock

import harness

PROGRAM_ON_GPU = 3 << 29  # what the plan allows for besides tensors


def gpus(count, **more):
    variables = {"VOXCYCLE_EMULATED_GPUS": count, **more}
    return mock.patch.dict(os.environ, {name: str(value) for name, value in variables.items()})


class Gpus(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({"cycle.steps": "6, 4", "cycle.batch": "8", "run.device": "cuda"})

    def generate(self, *options):
        return self.succeed("generate", "--config", "small.cfg", *options)

    def train(self, name, *options, ranks=0):
        result = self.succeed("train", "--config", "small.cfg", "--run.directory", name, *options,
                              ranks=ranks)
        return result.err, self.timeless_metrics(name)

    def held_out(self):
        return str(next(self.scratch.glob("data/held_out/16x16x16/*.h5"))) + ":/nu[0]"

    def assert_close(self, found, expected, share):
        self.assertLessEqual(abs(found - expected), share * abs(expected))

    def assert_close_losses(self, found, expected, share):
        """Of the runs' directories."""
        for there, here in zip(self.metrics(found), self.metrics(expected), strict=True):
            self.assertEqual(bool(there["loss"]), bool(here["loss"]))
            if here["loss"]:
                self.assert_close(float(there["loss"]), float(here["loss"]), share)


class SameBits(Gpus):
    def expect_same_bits(self, *options):
        self.generate()
        said, alone = self.train("alone", *options)
        self.assertIn("process 0: GPU 0 (emulated GPU)", said)
        self.assertEqual("reproducible weight gradients" in said, "f32" in options)
        self.assertEqual(len(harness.losses(alone)), 10)
        self.assertIn("micro-batches one after the other (on a GPU faster in one: train.micro_batch_size = ", said)
        for ranks in (1, 2, 3):
            said, shared = self.train(f"shared{ranks}", *options, ranks=ranks)
            self.assertEqual(shared, alone, f"{ranks} processes on one GPU")
            self.assertEqual("several processes share a GPU" in said, ranks > 1)
            self.assertNotIn("NCCL", said)
        for ranks in (2, 3):
            with gpus(ranks):
                said, own = self.train(f"own{ranks}", *options, ranks=ranks)
            self.assertEqual(own, alone, f"{ranks} processes with a GPU each")
            self.assertNotIn("several processes share a GPU", said)
            self.assertIn("NCCL", said)
            self.assertIn(f"process {ranks - 1}: GPU {ranks - 1} (emulated GPU)", said)
        with gpus(1, VOXCYCLE_EMULATED_GPU_PER_TASK="yes"):
            said, seen_alone = self.train("seen_alone", *options, ranks=2)
        self.assertEqual(seen_alone, alone, "each process sees a GPU of its own")
        self.assertIn("NCCL", said)
        self.assertIn("process 1: GPU 0 (emulated GPU)", said)

    def test_default(self):
        self.expect_same_bits()

    def test_lbfgs_in_batches_that_do_not_divide(self):
        self.expect_same_bits("--train.optimizer", "muon, lbfgs", "--cycle.batch", "5",
                              "--train.precision", "f32")

    def test_fast_reduction_does_not_depend_on_the_transport(self):
        self.generate()
        fast = ("--train.reduction", "fast", "--train.precision", "f32")
        said, shared = self.train("shared", *fast, ranks=2)
        self.assertNotIn("reproducible weight gradients", said)
        with gpus(2):
            _, own = self.train("own", *fast, ranks=2)
        self.assertEqual(own, shared)


class Agreement(Gpus):
    def test_with_the_cpu(self):
        self.generate()
        on_cpu = ("--run.device", "cpu")
        # In which rounding does not grow to be seen. Far below 1e-8 Adam takes full steps along
        # entries of the gradient that are nothing but rounding.
        double = ("--train.precision", "f64", "--train.adam_epsilon", "1e-8")
        self.train("gpu", *double)
        self.train("cpu", *double, *on_cpu)
        for there, here in zip(self.metrics("gpu"), self.metrics("cpu"), strict=True):
            for name in ("loss", "rel_l2_mean", "energy_gap_mean", "energy_norm_error_mean"):
                self.assertEqual(bool(there[name]), bool(here[name]))
                if here[name]:
                    self.assert_close(float(there[name]), float(here[name]), 1e-4)
        evaluate = ("evaluate", "--config", "small.cfg", "--run.directory", "gpu", *double)
        there = self.figures(*evaluate, "--compare")
        here = self.figures(*evaluate, *on_cpu, "--compare")
        self.assert_close(there["energy_norm_error_mean"], here["energy_norm_error_mean"], 1e-4)
        self.assertEqual(there["compare"]["device"], "GPU 0 (emulated GPU)")
        self.assertEqual(here["compare"]["device"], "the CPU")
        for a, b in zip(there["compare"]["methods"], here["compare"]["methods"]):
            self.assertEqual((a["method"], a["converged"]), (b["method"], b["converged"]))
            self.assertLess(abs(a["rel_l2_mean"] - b["rel_l2_mean"]), 1e-5)

        sourced = ("--problem.source", "2", "--data.directory", "sourced", "--cycle.steps", "1, 1")
        self.generate(*sourced)
        self.train("sourced", *sourced)
        evaluate = ("evaluate", "--config", "small.cfg", "--run.directory", "sourced", *sourced)
        there = self.figures(*evaluate, "--compare")
        here = self.figures(*evaluate, *on_cpu, "--compare")
        for a, b in zip(there["compare"]["methods"], here["compare"]["methods"]):
            self.assertLess(abs(a["rel_l2_mean"] - b["rel_l2_mean"]), 1e-4, a["method"])

        model = str(self.scratch / "gpu/checkpoint.h5")
        solve = ("solve", "--nu", self.held_out(), "--model", model)
        for task in ((), ("--certify",), ("--conductivity",)):
            there = self.figures(*solve, *task, "--run.device", "cuda")
            here = self.figures(*solve, *task, *on_cpu)
            self.assertEqual(there["iterations"], here["iterations"])
            for a, b in zip(there["flow_into_faces"], here["flow_into_faces"]):
                self.assertLess(abs(a - b), 1e-6)
            if task == ("--conductivity",):
                for a, b in zip(there["effective_conductivity"], here["effective_conductivity"],
                                strict=True):
                    self.assert_close(a, b, 1e-6)

    def test_nested_grids_with_the_cpu(self):
        self.generate()
        for directions in "0", "3":
            options = ("--train.precision", "f64", "--train.adam_epsilon", "1e-8",
                       "--network.coarse", "black_box", "--network.subspace", directions)
            gpu, cpu = "gpu" + directions, "cpu" + directions
            self.train(gpu, *options)
            self.train(cpu, *options, "--run.device", "cpu")
            self.assert_close_losses(gpu, cpu, 1e-9)

    def test_slabs_with_the_cpu(self):
        self.generate()
        options = ("--train.precision", "f64", "--train.adam_epsilon", "1e-8",
                   "--network.coarse", "black_box", "--run.spatial_processes", "2", "--run.spatial_above", "8")
        _, shared = self.train("shared", *options, ranks=2)
        with gpus(2):
            said, own = self.train("own", *options, ranks=2)
        self.assertIn("NCCL", said)
        self.assertIn("16^3: 2 processes per sample", said)
        self.assertEqual(own, shared, "by NCCL and through the host")
        self.train("cpu", *options, "--run.device", "cpu", ranks=2)
        self.assert_close_losses("own", "cpu", 1e-9)

    def test_references_made_there(self):
        keys = ("--data.family", "inclusions", "--data.contrast", "1e4")
        made = self.generate(*keys)
        self.assertIn("8 reference solutions converged", made.err)
        self.generate(*keys, "--data.directory", "other", "--run.device", "cpu")
        self.train("run", *keys)
        evaluate = ("evaluate", "--config", "small.cfg", *keys)
        there = self.figures(*evaluate)
        here = self.figures(*evaluate, "--data.directory", "other")
        self.assert_close(there["energy_gap_mean"], here["energy_gap_mean"], 1e-4)


class Benches(Gpus):
    def test_dry_run_shows_gpus(self):
        self.generate()
        with gpus(2):
            result = self.succeed("train", "--config", "small.cfg", "--dry-run", ranks=2)
        self.assertIn("process 1: GPU 1 (emulated GPU)", result.err)

    def test_all_that_compute(self):
        few = ("--repeats", "2")
        for name, *options in (("energy", *few), ("step", "--batch", "2", *few), ("loss", *few),
                               ("conv", *few), ("reference", "--field", "kl")):
            with self.subTest(bench=name):
                line = self.figures("bench", name, "--grid", "8", "--run.device", "cuda", *options)
                self.assertEqual(line["device"], "GPU 0 (emulated GPU)")

    def test_without_a_profile_the_figures_are_told(self):
        with gpus(1):
            result = self.run_program("bench", "step", "--grid", "8", "--batch", "2", "--no-baseline",
                                      "--run.device", "cuda", "--profile", "trace.json")
        self.assertEqual(result.status, 1)
        self.assertIn("the profiler saw nothing of the GPU", result.err)
        self.assertGreater(json.loads(result.out.splitlines()[-1])["seconds_median"], 0)

    def test_memory_is_what_was_planned(self):
        step = ("bench", "step", "--batch", "2", "--no-baseline", "--repeats", "1", "--run.device",
                "cuda", "--network.channels", "4:16, 8:16, 16:16, 32:8")
        single, again = ("--train.precision", "f32"), ("--train.recompute", "yes")
        nested = ("--network.coarse", "black_box")
        for options in ((16, *single), (32, *single), (32, *single, *again), (16,), (32,), (32, *again),
                        (32, *single, *nested), (32, *nested),
                        (32, *nested, "--network.subspace", "4")):
            line = self.figures(*step, "--grid", *options)
            self.assert_close(line["peak_bytes"], line["predicted_bytes"] - PROGRAM_ON_GPU, 0.05)

    def test_memory_of_slabs_is_what_was_planned(self):
        step = ("bench", "step", "--batch", "2", "--no-baseline", "--repeats", "1", "--run.device",
                "cuda", "--grid", "32", "--run.spatial_processes", "2", "--run.spatial_above", "8")
        wide = ("--network.channels", "4:16, 8:16, 16:16, 32:8")
        single = ("--train.precision", "f32")
        # What directions keep for the backward pass is most of it.
        thin = ("--network.channels", "4:4, 8:4, 16:4, 32:1", "--network.subspace", "16")
        for options in (wide, (*wide, *single, "--train.recompute", "yes"), (*thin, *single)):
            line = self.figures(*step, *options, ranks=2)
            self.assertEqual(line["processes_a_sample"], 2)
            self.assert_close(line["peak_bytes"], line["predicted_bytes"] - PROGRAM_ON_GPU, 0.05)


class Refusals(Gpus):
    def refuse(self, *arguments, expect, ranks=0):
        result = self.run_program(*arguments, ranks=ranks)
        self.assertNotEqual(result.status, 0, result.text)
        for text in expect:
            self.assertIn(text, result.err)

    def test_no_gpu(self):
        train = ("train", "--config", "small.cfg")
        with gpus(0):
            self.generate("--run.device", "auto")
            for ranks in (0, 2):
                self.refuse(*train, expect=("lists no GPU", "CUDA_VISIBLE_DEVICES"), ranks=ranks)
            result = self.succeed(*train, "--run.device", "auto")
            self.assertIn("computing on the CPU", result.err)

    def test_too_little_memory(self):
        self.generate()
        train = ("train", "--config", "small.cfg")
        with gpus(1, VOXCYCLE_EMULATED_GPU_MEMORY=1540):
            self.refuse(*train, expect=("1.5 GiB",))
        for ranks in (0, 2):
            with gpus(1, VOXCYCLE_EMULATED_GPU_FREE=2):
                self.refuse(*train, expect=("the GPU is out of memory, though the plan was",
                                            "nvidia-smi"), ranks=ranks)

    def test_too_little_memory_to_solve(self):
        self.generate()
        with gpus(1, VOXCYCLE_EMULATED_GPU_FREE=0):
            self.refuse("solve", "--nu", self.held_out(), "--run.device", "cuda",
                        expect=("CUDA out of memory", "nvidia-smi", "run.device = cpu"))

    def test_older_gpus(self):
        self.generate()
        with gpus(1, VOXCYCLE_EMULATED_GPU_CAPABILITY=75):
            info = self.succeed("info").out
            self.assertRegex(info, r"GPU 0 .*compute capability 7\.5: no bf16 tensor cores, "
                                   r"use train\.precision = f16\n")
            train = ("train", "--config", "small.cfg")
            self.refuse(*train, expect=("compute capability 7.5 (no bf16 tensor cores)",
                                        "Set train.precision = f16"))
            self.succeed(*train, "--train.precision", "f16")
            solved = self.succeed("solve", "--nu", self.held_out(), "--run.device", "cuda",
                                  "--model", "run/checkpoint.h5")
            self.assertIn("f16", solved.out)
        with gpus(1, VOXCYCLE_EMULATED_GPU_CAPABILITY=70):
            info = self.succeed("info").out
            self.assertRegex(info, r"compute capability 7\.0: this build has no kernels for it\n")
            self.assertRegex(info, r"GPU use .*-DVOXCYCLE_CUDA_ARCHITECTURES=70")

    def test_what_gpus_cannot_do(self):
        self.generate()
        self.refuse("train", "--config", "small.cfg", "--train.layout", "default",
                    expect=("train.layout = default is not for GPUs",))
        self.refuse("train", "--config", "small.cfg", "--run.device", "gpu",
                    expect=("run.device", "auto, cpu, cuda"))


if __name__ == "__main__":
    harness.main()
