#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that newcomers make, and what they are told: the word that was meant, and status 2 where
what was asked for cannot be meant. The help, and the completion in shells."""

import re
import subprocess

import harness
from harness import Refusal

USAGE = 2
BEFORE_ANY_WORK = ("iterations", "relative residual")


class Mistakes(Refusal):
    def mistake(self, *arguments, expect, ranks=0):
        error = self.refuse(*arguments, expect=expect, ranks=ranks)
        again = self.run_program(*arguments, ranks=ranks)
        self.assertEqual(again.status, USAGE, again.text)
        return error

    def test_names_from_elsewhere(self):
        train = ("train", "--config", "small.cfg")
        cases = [
            (("--train.learning_rate", "1"), "'train.learning_rate'. Did you mean cycle.rate?"),
            (("--lr", "1"), "unknown option --lr of train. Did you mean --cycle.rate?"),
            (("--learning-rate=1",), "Did you mean --cycle.rate?"),
            (("--epochs", "5"), "Did you mean --cycle.epochs?"),
            (("--train.epochs", "5"), "'train.epochs'. Did you mean cycle.epochs?"),
            (("--batch_size", "5"), "Did you mean --cycle.batch?"),
            (("--train.batch_size", "5"), "'train.batch_size'. Did you mean cycle.batch?"),
            (("--dryrun",), "Did you mean --dry-run?"),
            (("--fast",), "unknown option --fast of train. voxcycle train --help lists them."),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                self.mistake(*train, *arguments, expect=expect)
        for text in ("[train]\nlr = 1\n", "learning_rate = 1\n"):
            (self.scratch / "bad.cfg").write_text(text)
            self.mistake("train", "--config", "bad.cfg", expect="Did you mean cycle.rate?")

    def test_words_without_their_flags(self):
        (self.scratch / "run").mkdir()
        (self.scratch / "run/config.cfg").write_text("")
        cases = [
            (("tain",), "unknown command 'tain'. Did you mean train?"),
            (("paint",), "Choose one of generate, train"),
            (("train", "-c", "small.cfg"), "unexpected argument '-c'. Options start with --. Did you "
                                           "mean --config?"),
            (("train", "-epochs", "5"), "Did you mean --cycle.epochs?"),
            (("train", "-"), "train --help lists them."),
            (("train", "small.cfg"), "Did you mean --config small.cfg?"),
            (("evaluate", "run"), "Did you mean --config run/config.cfg?"),
            (("train", "--config", "run"), "Name the file, run/config.cfg."),
            (("solve", "nu.npy"), "Did you mean --nu nu.npy?"),
            (("solve", "-nu", "nu.npy"), "Did you mean --nu?"),
            (("solve", "--output", "u.npy"), "Did you mean --out?"),
            (("evaluate", "run/best.h5"), "Did you mean --checkpoint run/best.h5?"),
            (("conductivity", "-phases", "0:1"), "Did you mean --phases?"),
        ]
        for arguments, expect in cases:
            with self.subTest(arguments=arguments):
                self.mistake(*arguments, expect=expect)

    def test_what_cannot_be_meant_has_a_status_of_its_own(self):
        cases = [("solve",), ("export",), ("train", "--cycle.batch", "0"),
                 ("train", "--config", "none.cfg"), ("train", "--cycle.levels", "16, 8"),
                 ("train", "--cycle.name", "x"), ("generate", "--data.family", "x"),
                 ("evaluate", "--precision", "x"), ("bench", "energy", "--grid", "x"),
                 ("solve", "--nu", "nu.npy", "--tol", "x"), ("solve", "--nu", "nu.npy", "--bc", "1")]
        for arguments in cases:
            with self.subTest(arguments=arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.status, USAGE, result.text)
        for arguments in (("train", "--lr", "1"), ("train", "--cycle.batch", "0")):
            self.mistake(*arguments, expect="", ranks=2)
        # What is missing is no mistake of usage.
        self.assertEqual(self.run_program("train", "--config", "small.cfg").status, 1)

    def test_models_and_grids(self):
        self.config()
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        self.succeed("export", "--config", "small.cfg", "--out", "m.pt")
        (self.scratch / "ones.raw").write_bytes(b"\1" * 512)
        nu = ("solve", "--nu", "ones.raw:8,8,8:uint8")
        evaluate = ("evaluate", "--config", "small.cfg")
        for arguments in ((*nu, "--model", "m.pt"), (*evaluate, "--checkpoint", "m.pt")):
            self.refuse(*arguments, expect=["m.pt: is a model for Python", "checkpoint.h5"])
        self.assertIn("network saved", self.succeed(*nu, "--model", "run").out)
        self.succeed(*evaluate, "--checkpoint", "run/")
        self.succeed("export", "--checkpoint", "run", "--out", "n.pt")
        self.mistake(*evaluate, "--grid", "48",
                     expect=["--grid 48: there are held-out samples at 8^3, 16^3", "at 48^3", "add 48"])

    def test_outputs_that_cannot_be_written(self):
        (self.scratch / "ones.raw").write_bytes(b"\1" * 512)
        (self.scratch / "folder").mkdir()
        # Root may write anywhere but where the kernel makes the files.
        for flag, path in (("--out", "/proc/u.vtkhdf"), ("--json", "/sys/u.json"),
                           ("--png", "/proc/pictures"), ("--json", "folder"),
                           ("--out", "ones.raw/u.vtkhdf"), ("--json", "a" * 254)):
            with self.subTest(path=path):
                self.mistake("solve", "--nu", "ones.raw:8,8,8:uint8", flag, path,
                             expect="cannot write " + path)
                text = self.run_program("solve", "--nu", "ones.raw:8,8,8:uint8", flag, path).text
                for word in BEFORE_ANY_WORK:
                    self.assertNotIn(word, text)


class Help(harness.Case):
    def test_alone_it_shows_commands_and_examples(self):
        result = self.run_program()
        self.assertEqual(result.status, USAGE)
        self.assertEqual(result.out, self.succeed("--help").out)
        self.assertLessEqual(len(result.out.splitlines()), 25)
        self.assertEqual(len(re.findall(r"(?m)^  voxcycle \w+ -?", result.out)), 3)

    def test_every_command_has_flags_keys_and_examples(self):
        everything = self.succeed("--help", "--all").out
        commands = set(re.findall(r"(?m)^(\w+)[^:\n]*: ", everything)) - {"usage", "voxcycle"}
        self.assertIn("conductivity", commands)
        dump = self.succeed("--dump-config").out
        for command in commands:
            with self.subTest(command=command):
                text = self.succeed(command, "--help").out
                self.assertLessEqual(max(map(len, text.splitlines())), 100)
                keys = re.findall(r"(?m)^  --(\w+\.\w+) ", text)
                self.assertTrue(1 <= len(keys) <= 10, keys)
                for key in keys:
                    self.assertRegex(dump, f"(?m)^{key.split('.')[1]} =")
                self.assertRegex(text, f"(?m)^  voxcycle {command}")
                flags = set(re.findall(r"(?m)^  (--[\w-]+)(?: |$)", text))
                self.assertLessEqual(flags, set(re.findall(r"--[\w-]+", everything)))
        for section in ("lbfgs.pairs", "ablate.spectrum_samples"):
            self.assertIn(f"--{section}", everything)
            self.assertIn(f"--{section}", self.succeed("train", "--help", "--all").out)
            self.assertNotIn(f"--{section}", self.succeed("train", "--help").out)


class Completion(harness.Case):
    def complete(self, *words):
        """What bash proposes for the last word."""
        (self.scratch / "voxcycle.bash").write_text(self.succeed("--completion", "bash").out)
        quoted = " ".join(f"'{word}'" for word in ("voxcycle", *words))
        script = (f"source voxcycle.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _voxcycle; "
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        out = subprocess.run(["bash", "-c", script], cwd=self.scratch, check=True, text=True,
                             capture_output=True)
        self.assertEqual(out.stderr, "")
        return out.stdout.split()

    def test_commands_flags_keys_and_subjects(self):
        self.assertEqual(self.complete("ex"), ["export"])
        self.assertEqual(self.complete("train", "--dr"), ["--dry-run"])
        self.assertEqual(self.complete("solve", "--dr"), [])
        self.assertEqual(self.complete("train", "--cycle.ra"), ["--cycle.rate"])
        self.assertEqual(self.complete("bench", "en"), ["energy"])
        self.assertEqual(self.complete("train", "--config", "sma"), [], "left to bash: files")
        self.assertNotIn("--worker", self.complete("verify", "--"))
        self.assertIn("bashcompinit", self.succeed("--completion", "zsh").out)
        wrong = self.run_program("--completion", "fish")
        self.assertEqual(wrong.status, USAGE)
        self.assertIn("bash or zsh", wrong.err)


if __name__ == "__main__":
    harness.main()
