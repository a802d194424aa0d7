#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The training step against the same step in plain PyTorch, by turns on the same threads.

    step_in_pytorch.py BINARY [--grid 64] [--batch 4] [--threads 2] [--rounds 2] [--baseline]

Both sides: the level-keyed network with the same channels and averaged levels, its smoothing steps
(none, then four), the plain energy as loss on the same random fields, Adam, averaged weights;
convolutions in bf16, channels last, loss and solution in float32; libtorch's own convolutions.
Only the program: units of two samples, exactly reduced sums, fused normalisation and activation,
fused kernels for K u. Only PyTorch: the whole batch at once, autocast, BatchNorm3d and leaky_relu,
fused Adam; K u by sums and differences of slices, applied once in each direction.

--baseline adds torch's default layout in float32, on both sides.

That both do the same is checked: as many weights, and the same loss before the first update (the
zero heads hide the random weights). Exit status 77 (skipped) where Python has no torch.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except (ImportError, OSError) as error:
    print(f"skipped: this Python has no torch that works ({error})")
    sys.exit(77)

CHANNELS = {4: 64, 8: 64, 16: 32, 32: 16, 64: 8, 128: 8, 256: 8}
CORRECTION_SCALE = 4.0
SEED = 1
WARM_UPS = 2
UNIT = 2  # samples that the program draws together
LOSS_ROUNDING = 1e-5  # relative; float32 sums over some 10^5 nodes


# ---- the equation: Q1 elements on the unit cube, u = 1 at x = 0, u = 0 at x = 1 ------------------


def haar_eigenvalues(n):
    """Of a voxel's matrix h (K1 M1 M1 + M1 K1 M1 + M1 M1 K1), by which axes the vector differs
    along: M1 = 1/4 ss' + 1/12 dd', K1 = dd' with s = (1, 1), d = (-1, 1)."""
    values = {}
    for differs in itertools.product((0, 1), repeat=3):
        m = [1 / 12 if d else 1 / 4 for d in differs]
        values[differs] = sum(
            differs[a] * m[(a + 1) % 3] * m[(a + 2) % 3] for a in range(3)) / n
    return values


def apply_stiffness(u, nu):
    """K(nu) u."""
    n = nu.shape[-1]
    parts = {(): u}
    for axis in (2, 3, 4):
        parts = {key + (d,): value for key, x in parts.items() for d, value in enumerate(
            (x.narrow(axis, 0, n) + x.narrow(axis, 1, n),
             x.narrow(axis, 1, n) - x.narrow(axis, 0, n)))}
    parts = {key: parts[key] * (nu * value) for key, value in haar_eigenvalues(n).items() if value}
    for axis in (4, 3, 2):
        joined = {}
        for key, x in parts.items():
            shape = list(x.shape)
            shape[axis] += 1
            out = joined.setdefault(key[:-1], None)
            if out is None:
                out = joined[key[:-1]] = x.new_zeros(shape)
            out.narrow(axis, 0, n).add_(x, alpha=-1 if key[-1] else 1)
            out.narrow(axis, 1, n).add_(x)
        parts = joined
    return parts[()]


class Stiffness(torch.autograd.Function):
    """K(nu) u, differentiable in u: K is symmetric."""

    @staticmethod
    def forward(context, u, nu):
        context.save_for_backward(nu)
        return apply_stiffness(u, nu)

    @staticmethod
    def backward(context, slope):
        return apply_stiffness(slope.contiguous(), *context.saved_tensors), None


class Energy(torch.autograd.Function):
    """1/2 u' K(nu) u of each sample; forward keeps its slope, K u."""

    @staticmethod
    def forward(context, u, nu):
        k_u = apply_stiffness(u, nu)
        context.save_for_backward(k_u)
        return 0.5 * (u * k_u).flatten(1).sum(1)

    @staticmethod
    def backward(context, slope):
        return context.saved_tensors[0] * slope.view(-1, 1, 1, 1, 1), None


def lift(n):
    return (1 - torch.arange(n + 1) / n).view(1, 1, -1, 1, 1).expand(1, 1, n + 1, n + 1, n + 1)


def mask(n):
    inner = torch.ones(1, 1, n + 1, 1, 1)
    inner[:, :, [0, n]] = 0
    return inner


def smooth(u, nu, steps):
    """Chebyshev-Jacobi steps on K(nu) u = 0 for the upper three quarters of the spectrum of
    D^-1 K, which ends at 1.5."""
    n = nu.shape[-1]
    diagonal = F.conv_transpose3d(nu, torch.full((1, 1, 2, 2, 2), 1 / (3 * n)))
    inverse = mask(n) / diagonal
    top = 1.5
    centre, radius = (top + top / 4) / 2, (top - top / 4) / 2
    ratio = centre / radius
    rho = 1 / ratio
    d = None
    for step in range(steps):
        jacobi = -inverse * Stiffness.apply(u, nu)
        if step == 0:
            d = jacobi / centre
        else:
            following = 1 / (2 * ratio - rho)
            d = following * rho * d + 2 * following / radius * jacobi
            rho = following
        u = u + d
    return u


# ---- the network ---------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv1 = nn.Conv3d(channels_in, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm3d(channels)
        self.conv2 = nn.Conv3d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm3d(channels)

    def forward(self, x):
        x = F.leaky_relu(self.norm1(self.conv1(x)), 0.1)
        return F.leaky_relu(self.norm2(self.conv2(x)), 0.1)


class Level(nn.Module):
    """The block of one grid; `child` is the number of channels of the coarser one, None at its
    end."""

    def __init__(self, channels, child):
        super().__init__()
        self.stem = nn.Conv3d(1, channels, 3, padding=1)
        self.enc = Block(channels, channels)
        self.head = nn.Conv3d(channels, 1, 2, padding=1)
        zero = [self.head]
        if child is not None:
            self.down = nn.Conv3d(channels, child, 2, stride=2)
            self.up = nn.ConvTranspose3d(child, channels, 2, stride=2)
            self.dec = Block(2 * channels, channels)
            zero.append(self.down)
        for conv in zero:
            nn.init.zeros_(conv.weight)
            nn.init.zeros_(conv.bias)


class Network(nn.Module):
    def __init__(self, finest, smoothing):
        super().__init__()
        self.smoothing = smoothing
        self.levels = nn.ModuleDict()
        child = None
        for n, channels in CHANNELS.items():
            if n <= finest:
                self.levels[str(n)] = Level(channels, child)
                child = channels

    def forward(self, log_nu, from_finer=None):
        n = log_nu.shape[-1]
        level = self.levels[str(n)]
        h = level.stem(log_nu)
        h = level.enc(h if from_finer is None else h + from_finer)
        if str(n // 2) in self.levels:
            u, g = self(F.avg_pool3d(log_nu, 2), level.down(h))
            g = level.dec(torch.cat([h, level.up(g)], 1))
            u = F.interpolate(u, size=(n + 1,) * 3, mode="trilinear", align_corners=True)
        else:
            u, g = lift(n), h
        u = u + mask(n) * (CORRECTION_SCALE / n) * level.head(g).float().contiguous()
        if self.smoothing:
            u = smooth(u, log_nu.contiguous().exp(), self.smoothing)
        return u, g


class Step:
    """Training steps in PyTorch: one batch again and again, as the program's bench does."""

    def __init__(self, grid, batch, smoothing, layout, precision):
        torch.manual_seed(SEED)
        random = torch.Generator().manual_seed(SEED)
        units = [min(UNIT, batch - k) for k in range(0, batch, UNIT)]
        self.nu = torch.cat([
            torch.randn(size, 1, grid, grid, grid, generator=random) for size in units]).exp()
        self.layout, self.precision = layout, precision
        self.network = Network(grid, smoothing).to(memory_format=layout)
        self.average = [p.detach().clone() for p in self.values()]
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-4, fused=True)

    def values(self):
        return [*self.network.parameters(),
                *(b for b in self.network.buffers() if b.is_floating_point())]

    def parameters(self):
        return sum(p.numel() for p in self.network.parameters())

    def run(self):
        """@return the loss before the update"""
        log_nu = self.nu.log().contiguous(memory_format=self.layout)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            u, _ = self.network(log_nu)
        loss = Energy.apply(u.float().contiguous(), self.nu).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.average, [p.detach() for p in self.values()], 0.5)
        return loss.item()


# ---- the comparison ------------------------------------------------------------------------------


def run_program(options, smoothing):
    """@return the line of `voxcycle bench step`."""
    channels = ", ".join(f"{n}:{c}" for n, c in CHANNELS.items() if n <= options.grid)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "step.json"
        command = [options.binary, "bench", "step", "--grid", options.grid, "--batch",
                   options.batch, "--json", path, "--run.seed", SEED, "--run.threads",
                   options.threads, "--train.loss", "energy", "--train.optimizer", "adam",
                   "--train.precision", "bf16", "--train.micro_batch_size", UNIT,
                   "--network.channels", channels, "--network.smoothing", smoothing,
                   "--network.coarse", "averaged", "--network.correction_scale",
                   CORRECTION_SCALE]
        if not options.baseline:
            command.append("--no-baseline")
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())


def run_pytorch(step, repeats):
    """@return seconds of each step, and the first loss."""
    seconds, losses = [], []
    for _ in range(WARM_UPS + repeats):
        begin = time.perf_counter()
        losses.append(step.run())
        seconds.append(time.perf_counter() - begin)
    return seconds[WARM_UPS:], losses[0]


def compare(options, smoothing):
    variants = {"seconds_median": ("bf16, channels last", torch.channels_last_3d, "bf16")}
    if options.baseline:
        variants["baseline_seconds_median"] = ("f32, default layout", torch.contiguous_format,
                                               "f32")
    steps = {key: Step(options.grid, options.batch, smoothing, layout, precision)
             for key, (_, layout, precision) in variants.items()}
    ours = {key: [] for key in steps}
    theirs = {key: [] for key in steps}
    for turn in range(options.rounds):
        line = run_program(options, smoothing)
        for key, step in steps.items():
            seconds, first_loss = run_pytorch(step, line["repeats"])
            ours[key].append(line[key])
            theirs[key] += seconds
            if turn == 0:
                check(line, step, first_loss)
    for key, (name, _, _) in variants.items():
        mine, other = statistics.median(ours[key]), statistics.median(theirs[key])
        print(f"{options.grid}^3  batch {options.batch}  smoothing {smoothing}  {name:20}  "
              f"voxcycle {mine:.3f} s  PyTorch {other:.3f} s  ratio {other / mine:.2f}",
              flush=True)


def check(line, step, first_loss):
    """Both sides do the same work."""
    if line["parameters"] != step.parameters():
        sys.exit(f"{line['parameters']} weights here, {step.parameters()} in PyTorch")
    if abs(line["first_loss"] - first_loss) > LOSS_ROUNDING * abs(first_loss):
        sys.exit(f"first loss {line['first_loss']} here, {first_loss} in PyTorch")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", help="the voxcycle program")
    parser.add_argument("--grid", type=int, default=64, choices=CHANNELS)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--baseline", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads")
    for smoothing in (0, 4):
        compare(options, smoothing)


if __name__ == "__main__":
    main()
