#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A training that was stopped, or killed, ends as if it had never been: the same losses, the same
weights, on any number of processes."""

import os
import shlex
import shutil
import signal
import time
from pathlib import Path

import harness

# Long enough for a signal to hit its middle: some seconds.
STEPS = (240, 80)


class Resume(harness.Case):
    def setUp(self):
        super().setUp()
        self.config({
            "cycle.steps": ", ".join(map(str, STEPS)),
            # Also the pace of metrics.csv, by which these tests see how far a run is.
            "train.checkpoint_seconds": "0.1",
        })
        self.succeed("generate", "--config", "small.cfg")

    def command(self, directory):
        return ("train", "--config", "small.cfg", "--run.directory", directory)

    def steps_done(self, directory):
        if not (self.scratch / directory / "metrics.csv").exists():
            return 0
        return len(harness.losses(self.metrics(directory)))

    def interrupt(self, number, after, ranks=0, directory="run"):
        """Starts or goes on, and sends the signal once `after` steps are in metrics.csv."""
        process = self.start(*self.command(directory), ranks=ranks)
        self.wait_until(process, lambda: self.steps_done(directory) >= after)
        process.send(number)
        result = process.wait(20)
        self.assertGreaterEqual(self.steps_done(directory), after)
        self.assertLess(self.steps_done(directory), sum(STEPS), "the signal came too late")
        self.assertTrue((self.scratch / directory / "checkpoint.h5").is_file())
        self.assertFalse((self.scratch / directory / "DONE").exists())
        return result

    def stop(self, number, after, **where):
        """As `interrupt`; the program itself says how to go on, and no script takes it for done."""
        result = self.interrupt(number, after, **where)
        self.assertEqual(result.status, harness.STOPPED, result.text)
        self.assertIn("stopping with a checkpoint", result.err)
        self.assertIn("the same command goes on from the checkpoint in run", result.out)

    def finish(self, directory="run", ranks=0):
        result = self.succeed(*self.command(directory), ranks=ranks)
        self.assertTrue((self.scratch / directory / "DONE").exists())
        return result

    def figures(self, directory):
        """Errors of the averaged weights, to nine digits."""
        self.succeed("evaluate", "--config", "small.cfg", "--run.directory", directory)
        return (self.scratch / directory / "evaluation.json").read_text()

    def expect_as_uninterrupted(self):
        self.finish("whole")
        self.assertEqual(self.steps_done("whole"), sum(STEPS))
        self.assertEqual(self.timeless_metrics("run"), self.timeless_metrics("whole"))
        self.assertEqual(self.figures("run"), self.figures("whole"))

    def test_stopped_in_each_stage_on_other_numbers_of_processes(self):
        self.stop(signal.SIGINT, after=20)
        self.stop(signal.SIGUSR1, after=self.steps_done("run") + 20, ranks=3)
        self.stop(signal.SIGHUP, after=self.steps_done("run") + 20)
        self.stop(signal.SIGTERM, after=STEPS[0] + 10, ranks=0)
        result = self.finish(ranks=2)
        self.assertRegex(result.err, r"going on with stage 2 after \d+ of its steps")
        # Timed by the steps that were done.
        self.assertRegex(result.err, r"stage 2: 16\^3, 80 steps, .*, about \d")
        self.expect_as_uninterrupted()

    def test_killed(self):
        self.interrupt(signal.SIGKILL, after=20)
        result = self.finish()
        self.assertRegex(result.err, r"going on with stage 1 after \d+ of its steps")
        self.expect_as_uninterrupted()

    def test_a_finished_run_needs_its_data_no_more(self):
        self.finish()
        (self.scratch / "run" / "DONE").unlink()
        shutil.rmtree(self.scratch / "data")
        self.assertIn("holds the finished run already", self.finish(ranks=2).err)

    def test_ranks_that_see_other_directories_do_not_go_on(self):
        # As on two machines with disks of their own: rank 0 alone finds what it wrote.
        def start():
            apart = 'mkdir -p $OMPI_COMM_WORLD_RANK; cd $OMPI_COMM_WORLD_RANK; exec "$@"'
            process = harness.Process(
                self.scratch, [], launcher=[harness.MPIEXEC, "-n", "2", "sh", "-c", apart, "sh",
                                            harness.BINARY, "train", "--config", "../small.cfg",
                                            "--data.directory", "../data"])
            self.addCleanup(process.close)
            return process

        process = start()
        self.wait_until(process, lambda: self.steps_done("0/run") >= 10)
        process.send(signal.SIGUSR1)
        self.assertEqual(process.wait(20).status, harness.STOPPED)
        result = start().wait(20)
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"do not agree on the place in the run .*rank 0 has stage 1, step "
                                     r"\d\d+, weights \w+, rank 1 has stage 1, step 0")

    def test_fresh_forgets_the_run_that_was_there(self):
        self.finish()
        (self.scratch / "run" / "metrics.csv").unlink()
        process = self.start(*self.command("run"), "--fresh")
        self.wait_until(process, lambda: self.steps_done("run") >= 20)
        process.send(signal.SIGINT)
        self.assertIn("the same command without --fresh goes on", process.wait(20).out)
        result = self.finish()
        self.assertRegex(result.err, r"going on with stage \d after \d+ of its steps")
        self.expect_as_uninterrupted()

    def test_fresh_leaves_nothing_of_the_run_that_was_there(self):
        self.finish()
        run = self.scratch / "run"
        mine = {"reports of mine.html", "report.pdf", "report_draft.html", "compare.py", "evaluation.ipynb"}
        for name in mine:
            (run / name).touch()
        (run / "report_figures").mkdir()
        (run / "report_figures/one.html").touch()
        for name in ("report.html", "report_8.html", "evaluation.json", "evaluation_train.csv", "evaluation_train_8.json", "compare_8.csv",
                     "compare.csv"):
            (run / name).touch()
        process = self.start(*self.command("run"), "--fresh", "--train.checkpoint_seconds", "1000")
        self.wait_until(process, lambda: not (self.scratch / "run" / "DONE").exists())
        process.send(signal.SIGKILL)
        process.wait(5)
        left = {p.name for p in run.iterdir()} - {"config.cfg", "log.txt", "metrics.csv", ".lock"}
        self.assertEqual({n for n in left if not n.startswith("events.")}, mine | {"report_figures"})
        self.assertTrue((run / "report_figures/one.html").exists())

    def test_a_damaged_checkpoint_is_set_aside(self):
        self.stop(signal.SIGINT, after=20)
        run = self.scratch / "run"
        newest = run / "checkpoint.h5"
        self.assertTrue((run / "checkpoint-1.h5").is_file())
        self.assertFalse((run / "checkpoint-2.h5").exists())
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 4  # one bit, of the weights
        newest.unlink()  # the older one may be the same file
        newest.write_bytes(content)
        result = self.finish(ranks=2)
        self.assertRegex(result.err, r"checkpoint.h5: .* checksum .* It is run/damaged-1.h5 "
                                     r"now; going on from the checkpoint before it")
        self.assertEqual((run / "damaged-1.h5").read_bytes(), bytes(content))
        self.expect_as_uninterrupted()

    def test_a_removed_directory_is_not_written_again(self):
        process = self.start(*self.command("run"), "--train.checkpoint_seconds", "1")
        self.wait_until(process, lambda: self.steps_done("run") >= 5)
        time.sleep(0.3)  # that checkpoint is written
        (self.scratch / "run").rename(self.scratch / "gone")
        (self.scratch / "run").mkdir()  # and another run begins
        (self.scratch / "run/log.txt").touch()
        result = process.wait(20)
        self.assertEqual(result.status, 1, result.text)
        self.assertIn("run was removed or replaced while this process wrote there", result.err)
        self.assertFalse((self.scratch / "run/checkpoint.h5").exists())

    def test_training_ends_with_its_launcher(self):
        script = Path(__file__).resolve().parents[2] / "src/bundle/stoppable.sh"
        wrapped = ["bash", "-c", f". {shlex.quote(str(script))}; stoppable \"$@\"", "bash"]
        for wrapper, ranks in ([], 1), ([], 2), (wrapped, 2):
            process = harness.Process(self.scratch, [], launcher=[
                *wrapper, *harness.command_line(self.command("run"), ranks=ranks)])
            self.addCleanup(process.close)
            done = self.steps_done("run")
            self.wait_until(process, lambda: self.steps_done("run") >= done + 5)
            process.send(signal.SIGKILL)
            process.wait(5)
            # Else the directory would be in use.
            harness.wait_for(lambda: not (self.scratch / "run/.lock").read_text(), 20)
        self.finish()
        self.expect_as_uninterrupted()

    def test_under_nohup_it_outlives_the_terminal(self):
        process = self.start(*self.command("run"), in_child=lambda: signal.signal(
            signal.SIGHUP, signal.SIG_IGN))
        self.wait_until(process, lambda: self.steps_done("run") >= 5)
        process.send(signal.SIGHUP)
        self.assertEqual(process.wait(60).status, 0)
        self.assertTrue((self.scratch / "run" / "DONE").exists())

    def test_outlives_the_reader_of_its_output(self):
        # Ctrl-C ends a `| tee`, too. No checkpoint but the one of the stop.
        reader, writer = os.pipe()
        process = self.start(*self.command("run"), "--train.checkpoint_seconds", "1000",
                             in_child=lambda: (os.dup2(writer, 1), os.dup2(writer, 2)))
        os.close(writer)
        log = self.scratch / "run" / "log.txt"
        self.wait_until(process, lambda: log.exists() and "after 0 steps" in log.read_text())
        os.close(reader)
        process.send(signal.SIGINT)
        process.wait(20)
        result = self.finish()
        self.assertRegex(result.err, r"going on with stage 1 after \d+ of its steps")
        self.expect_as_uninterrupted()

    def test_a_directory_has_one_training_at_a_time(self):
        process = self.start(*self.command("run"))
        self.wait_until(process, lambda: self.steps_done("run") >= 5)
        for ranks in (0, 2):
            other = self.run_program(*self.command("run"), ranks=ranks)
            self.assertEqual(other.status, 1, other.text)
            self.assertRegex(other.err, r"run is in use by process \d+ on \S+\. .*another run\.directory")
        self.assertTrue(process.running())
        process.send(signal.SIGKILL)  # whoever ends so leaves nothing locked
        process.wait(5)
        self.finish()
        self.expect_as_uninterrupted()

    def test_threads_and_blanks(self):
        self.stop(signal.SIGINT, after=20)
        more = self.run_program(*self.command("run"), "--run.threads", "2")
        self.assertEqual(more.status, 1, more.text)
        self.assertRegex(more.err, r"threads per process = 1' there, .* 2' now.*set run.threads = 1")
        # The same numbers, written otherwise.
        steps = ",".join(map(str, STEPS))
        self.succeed(*self.command("run"), "--run.threads", "1", "--cycle.steps", steps)
        self.expect_as_uninterrupted()

    def test_wrapped_as_by_dev_and_bundles(self):
        """./dev run -n N and a bundle's voxcycle -n N pass on whatever asks to stop."""
        script = Path(__file__).resolve().parents[2] / "src/bundle/stoppable.sh"
        steps = 20
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            command = harness.command_line(self.command("run"), ranks=2)
            process = harness.Process(self.scratch, [], launcher=[
                "bash", "-c", f". {shlex.quote(str(script))}; stoppable \"$@\"", "bash", *command])
            self.addCleanup(process.close)
            self.wait_until(process, lambda: self.steps_done("run") >= steps)
            process.send(number)
            result = process.wait(20)
            self.assertEqual(result.status, harness.STOPPED, result.text)
            steps = self.steps_done("run") + 20
        self.finish(ranks=2)
        self.expect_as_uninterrupted()

    def test_without_standard_output(self):
        for closed in ((1,), (1, 2), (0, 1, 2)):
            def close():
                for file in closed:
                    os.close(file)
            directory = self.scratch / f"without {closed}"
            process = self.start(*self.command(directory.name), in_child=close)
            self.wait_until(process, lambda: self.steps_done(directory.name) >= 20)
            self.assertRegex((directory / ".lock").read_text(), r"^process \d+ on [^\s]+$")
            self.assertEqual(process.wait(40).status, 0)
            lines = (directory / "log.txt").read_text().splitlines()
            self.assertEqual(len(lines), len(set(lines)))

    def test_interrupted_mpiexec(self):
        # What Ctrl-C does: mpiexec passes a termination on to its ranks and reports a failure.
        result = self.interrupt(signal.SIGINT, after=20, ranks=2)
        self.assertNotEqual(result.status, 0)
        self.finish(ranks=2)
        self.expect_as_uninterrupted()


if __name__ == "__main__":
    harness.main()
