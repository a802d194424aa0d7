#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every coefficient family from generate to evaluate; what the family `file` takes and refuses."""

import json
import math
import shutil
import struct
from collections import Counter

import harness

FAMILIES = {
    "grf": {"data.family": "grf", "data.covariance": "gaussian", "data.correlation_length": "0.2"},
    # Contrasts that the FFTW preconditioner cannot solve for.
    "inclusions": {"data.family": "inclusions", "data.shape": "both", "data.inclusions": "3, 6",
                   "data.contrast": "1e6"},
    "insulating": {"data.family": "inclusions", "data.contrast": "1e-6"},
}
# Its lift has a gap of 6 % already: 40 steps of a small network are too few.
LEARNS_SLOWLY = {"insulating"}


class Families(harness.Case):
    def shards(self, directory):
        """Bytes of all shards by their path below `directory`."""
        root = self.scratch / directory
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.h5")}

    def run_job(self, learns=True, steps="30, 10"):
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg", "--cycle.steps", steps, ranks=2)
        self.succeed("evaluate", "--config", "small.cfg", "--cycle.steps", steps,
                     "--json", "figures.json")
        losses = [float(x) for x in harness.losses(self.metrics())]
        self.assertEqual(len(losses), 40)
        self.assertTrue(all(map(math.isfinite, losses)))
        figures = json.loads((self.scratch / "figures.json").read_text())
        self.assertEqual(figures["samples"], 4)
        gaps = [float(row["energy_gap_mean"]) for row in self.metrics() if row["energy_gap_mean"]]
        self.assertTrue(all(map(math.isfinite, gaps)))
        if learns:
            self.assertLess(gaps[-1], gaps[0], "nothing was learned")

    def test_whole_job(self):
        for name, keys in FAMILIES.items():
            with self.subTest(family=name):
                self.config({**keys, "run.directory": f"run-{name}",
                             "data.directory": f"data-{name}"})
                self.metrics_directory = f"run-{name}"
                self.run_job(name not in LEARNS_SLOWLY)

    def metrics(self, directory=None):
        return super().metrics(directory or self.metrics_directory)

    def test_shards_do_not_depend_on_the_number_of_processes(self):
        for name, keys in FAMILIES.items():
            self.config(keys)
            self.succeed("generate", "--config", "small.cfg", "--data.directory", "alone")
            alone = self.shards("alone")
            self.assertEqual(len(alone), 8)
            for ranks in (1, 2, 3):
                directory = f"on{ranks}"
                self.succeed("generate", "--config", "small.cfg", "--data.directory", directory,
                             "--run.threads", str(ranks), ranks=ranks)
                with self.subTest(family=name, ranks=ranks):
                    self.assertTrue(self.shards(directory) == alone, "bytes differ")
            for directory in ("alone", "on1", "on2", "on3"):
                for path in (self.scratch / directory).rglob("*.h5"):
                    path.unlink()


class File(Families):
    """The nu of one of our own shards serve as the user's arrays: [24, 16, 16, 16]."""

    SAMPLE_BYTES = 16**3 * 4

    def setUp(self):
        super().setUp()
        self.config({"data.shard_samples": "24", "data.directory": "source", "cycle.levels": "16",
                     "cycle.steps": "1"})
        self.succeed("generate", "--config", "small.cfg")
        self.source = "source/train/16x16x16/shard-00000-of-00001.h5"
        self.metrics_directory = "run"
        self.own_config()

    def own_config(self, changes=None):
        self.config({"data.family": "file", "data.file": self.source + ":/nu",
                     "data.train_samples": "20", "data.shard_samples": "100", **(changes or {})})

    def test_whole_job(self):
        self.run_job()
        # Shards are enough to train; the file may lie elsewhere.
        (self.scratch / self.source).rename(self.scratch / "elsewhere.h5")
        self.succeed("train", "--config", "small.cfg", "--fresh", ranks=2)

    def places(self, split):
        """Where in the source file the bytes of a split's finest nu are found, in order."""
        (shard,) = (self.scratch / "data" / split / "16x16x16").iterdir()
        made = shard.read_bytes()
        source = (self.scratch / self.source).read_bytes()
        found = {k: source.find(made[k:k + 256]) for k in range(0, len(made) - 256, 256)}
        # The two files' arrays are equal at one distance; other finds are headers.
        distances = Counter(place - k for k, place in found.items() if place >= 0)
        ((distance, _),) = distances.most_common(1)
        return [place for k, place in found.items() if place >= 0 and place - k == distance]

    def test_the_last_samples_are_held_out(self):
        self.succeed("generate", "--config", "small.cfg")
        train = self.places("train")
        held_out = self.places("held_out")
        slack = 1024  # chunks cut off at both ends
        self.assertAlmostEqual(train[-1] - train[0], 20 * self.SAMPLE_BYTES, delta=slack)
        self.assertAlmostEqual(held_out[-1] - held_out[0], 4 * self.SAMPLE_BYTES, delta=slack)
        self.assertAlmostEqual(held_out[0] - train[0], 20 * self.SAMPLE_BYTES, delta=slack)

    def refuse(self, expect):
        result = self.run_program("generate", "--config", "small.cfg")
        self.assertNotEqual(result.status, 0)
        for text in expect:
            self.assertIn(text, result.err)
        self.assertEqual(list(self.scratch.glob("data/**/*.h5")), [])

    def test_refusals(self):
        cases = [
            ({"data.file": ""}, ["file", "Give data.file"]),
            ({"data.file": "none.h5:/nu"}, ["none.h5", "no such file"]),
            ({"data.file": "source.txt"}, ["source.txt", "no", "FILE.h5:/path"]),
            ({"data.file": self.source + ":/mu"}, ["/mu", "/checksum, /nu, /omega"]),
            ({"data.file": self.source + ":/omega"}, ["/omega", "[24, 4]"]),
            ({"data.train_samples": "21"},
             ["data.train_samples = 21", "data.held_out_samples = 4", "24"]),
            ({"data.held_out_samples": "24"}, ["data.held_out_samples = 24"]),
            ({"cycle.levels": "32"},
             ["16x16x16", "32x32x32", "Levels that fit: 1, 2, 4, 8, 16."]),
        ]
        for changes, expect in cases:
            self.own_config(changes)
            with self.subTest(changes=changes):
                self.refuse(expect)

    def test_a_replaced_file_is_noticed(self):
        self.succeed("generate", "--config", "small.cfg")
        self.config({"data.shard_samples": "24", "data.directory": "other", "cycle.levels": "16",
                     "data.seed": "2"})
        self.succeed("generate", "--config", "small.cfg")
        (self.scratch / "other/train/16x16x16/shard-00000-of-00001.h5").replace(
            self.scratch / self.source)
        self.own_config()
        result = self.run_program("generate", "--config", "small.cfg")
        self.assertNotEqual(result.status, 0)
        self.assertIn("holds other data", result.err)

    def test_one_changed_array_of_many_is_noticed(self):
        self.succeed("generate", "--config", "small.cfg")
        path = self.scratch / self.source
        source = bytearray(path.read_bytes())
        at = self.places("train")[0] + 7 * self.SAMPLE_BYTES
        source[at:at + 4096], source[at + 4096:at + 8192] = (
            source[at + 4096:at + 8192], source[at:at + 4096])
        path.write_bytes(source)
        result = self.run_program("generate", "--config", "small.cfg")
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"holds other data \(its sample [678] is not number [678] of")

    def test_voxels_of_zero_are_trained_on_with_a_floor(self):
        self.succeed("generate", "--config", "small.cfg")
        path = self.scratch / self.source
        source = bytearray(path.read_bytes())
        for at in (self.places("train")[0], self.places("held_out")[0]):
            source[at + 512:at + 4096] = bytes(4096 - 512)
        path.write_bytes(source)
        shutil.rmtree(self.scratch / "data")
        self.own_config()
        self.refuse(["is 0 at voxel", "Set data.floor"])
        self.own_config({"data.floor": "1e-4"})
        self.run_job(learns=False)  # at that contrast 40 steps are too few

    def test_samples_made_on_the_fly_are_not_those_held_out(self):
        fly = ("--data.on_the_fly", "yes")
        self.own_config({"data.train_samples": "18", "data.file": "some.h5:/nu"})
        self.make_shorter("some.h5", 22)
        self.succeed("generate", "--config", "small.cfg", *fly)
        self.succeed("train", "--config", "small.cfg", *fly)
        self.make_shorter("some.h5", 24)  # the file has grown: others are the last four
        result = self.run_program("train", "--config", "small.cfg", "--fresh", *fly)
        self.assertNotEqual(result.status, 0)
        for text in ("number 20 of file(some.h5:/nu)", "has 24 now", "another data.directory"):
            self.assertIn(text, result.err)
        self.make_shorter("some.h5", 22, seed="2")  # as many, but others
        result = self.run_program("train", "--config", "small.cfg", "--fresh", *fly)
        self.assertNotEqual(result.status, 0)
        self.assertIn("its sample 0 is not number 18 of", result.err)

    def make_shorter(self, name, samples, seed="1"):
        """A file with the first of the source's arrays: generated, as no tool for HDF5 is here."""
        self.config({"data.shard_samples": "24", "data.directory": name + ".d",
                     "data.seed": seed,
                     "cycle.levels": "16", "data.train_samples": str(samples)}, name="short.cfg")
        self.succeed("generate", "--config", "short.cfg")
        (shard,) = (self.scratch / (name + ".d") / "train/16x16x16").iterdir()
        shard.replace(self.scratch / name)
        shutil.rmtree(self.scratch / (name + ".d"))

    def test_shards_do_not_depend_on_the_number_of_processes(self):
        self.succeed("generate", "--config", "small.cfg")
        alone = self.shards("data")
        self.succeed("generate", "--config", "small.cfg", "--data.directory", "more", ranks=3)
        self.assertTrue(self.shards("more") == alone, "bytes differ")


class SourceInFile(harness.Case):
    """problem.source = FILE: f = 8x, whose block means are its values at the centres of coarser
    voxels, so that a formula says what to expect."""

    FILE = "f.raw:16,16,16:float32"

    def setUp(self):
        super().setUp()
        self.write_source("f.raw", 8.0)
        self.config({"problem.source": self.FILE})

    def write_source(self, name, factor):
        values = [factor * (x + 0.5) / 16 for x in range(16) for _ in range(16 * 16)]
        (self.scratch / name).write_bytes(struct.pack(f"<{len(values)}f", *values))

    def flows(self, shard, source):
        """Into the faces, of the shard's first nu."""
        figures = self.figures("solve", "--nu", f"{shard}:/nu[0]", "--f", source, "--tol", "1e-10")
        return [figures["source"], *figures["flow_into_faces"]]

    def test_whole_job(self):
        self.succeed("generate", "--config", "small.cfg")
        for grid in ("8x8x8", "16x16x16"):
            (shard,) = (self.scratch / "data/held_out" / grid).iterdir()
            made, wanted = self.flows(shard, f"{shard}:/f[0]"), self.flows(shard, "8*x")
            self.assertAlmostEqual(made[0], 4.0, places=5)
            for a, b in zip(made, wanted):
                self.assertAlmostEqual(a, b, delta=1e-5)  # f is float32
        self.succeed("train", "--config", "small.cfg", "--data.workers", "2", ranks=2)
        self.succeed("evaluate", "--config", "small.cfg")
        # Samples made while training are the same, and so is a file that lies elsewhere.
        bits = self.timeless_metrics()
        (self.scratch / "f.raw").rename(self.scratch / "g.raw")
        moved = ("--problem.source", "g.raw:16,16,16:float32")
        result = self.succeed("train", "--config", "small.cfg", *moved)
        self.assertIn("holds the finished run already", result.text)
        self.succeed("train", "--config", "small.cfg", *moved, "--fresh", "--data.on_the_fly", "yes",
                     "--data.workers", "3")
        self.assertEqual(self.timeless_metrics(), bits)
        self.write_source("g.raw", 9.0)
        result = self.run_program("train", "--config", "small.cfg", *moved)
        self.assertNotEqual(result.status, 0)
        self.assertIn("problem.source", result.err)

    def test_a_study_makes_a_data_set_for_each(self):
        self.write_source("g.raw", 1.0)
        self.config({"vary.problem.source": "f.raw:16,16,16:float32 | g.raw:16,16,16:float32"})
        self.succeed("ablate", "--config", "small.cfg", "--data")
        directories = sorted((self.scratch / "data").iterdir())
        self.assertEqual(len(directories), 2)
        for directory, total in zip(directories, (4.0, 0.5)):
            shard = next(directory.glob("held_out/8x8x8/*.h5"))
            self.assertAlmostEqual(self.flows(shard, f"{shard}:/f[0]")[0], total, places=5)

    def test_refusals(self):
        cases = [
            ("nowhere.npy", ["problem.source", "nowhere.npy"]),
            ("f.raw:8,8,8:float32", ["f.raw"]),
            ("f.raw:32,16,8:float32", ["arrays are 32x16x8", "8x8x8"]),
        ]
        for source, expect in cases:
            with self.subTest(source=source):
                result = self.run_program("generate", "--config", "small.cfg", "--problem.source",
                                          source)
                self.assertNotEqual(result.status, 0)
                for text in expect:
                    self.assertIn(text, result.err)


if __name__ == "__main__":
    harness.main()
