#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An inverse problem: where is the body, and how well does it conduct, when u is as measured?

By gradient descent through a trained network, and checked by the solver, which knows nothing of it.

    inverse.py MODEL [--grid 16] [--steps 50]       MODEL: checkpoint.h5 or a run, e.g. runs/hybrid

nu is 1 with a soft ball in it; sought are its centre and log nu in it. What is "measured" is the
solver's u for the true ball.
"""

import argparse
import math
import time

import torch
import voxcycle

RADIUS = 0.25


def coefficient(ball, grid):
    """nu [grid, grid, grid] of x, y, z of the centre and log nu there."""
    middles = (torch.arange(grid) + 0.5) / grid
    x, y, z = torch.meshgrid(middles, middles, middles, indexing="ij")
    squares = (x - ball[0])**2 + (y - ball[1])**2 + (z - ball[2])**2
    return torch.exp(ball[3] * torch.exp(-squares / RADIUS**2))


def words(ball):
    x, y, z, strength = ball.tolist()
    return f"nu {math.exp(strength):5.2f} at ({x:.3f}, {y:.3f}, {z:.3f})"


def relative(a, b):
    return ((a - b).norm() / b.norm()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--grid", type=int, default=16)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()

    model = voxcycle.Model(options.model, precision="f32")
    truth = torch.tensor([0.35, 0.6, 0.45, 2.0])
    measured = voxcycle.solve(coefficient(truth, options.grid)).u.float()

    ball = torch.tensor([0.5, 0.5, 0.5, 0.5], requires_grad=True)
    print("start: ", words(ball))
    optimizer = torch.optim.Adam([ball], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    begin = time.monotonic()
    for step in range(1, options.steps + 1):
        optimizer.zero_grad()
        misfit = (model(coefficient(ball, options.grid)) - measured).square().mean()
        misfit.backward()
        optimizer.step()
        schedule.step()
        if step % 10 == 0 or step == options.steps:
            print(f"step {step:4d}: {words(ball)}, misfit {misfit.item():.2e}")
    print("true:  ", words(truth))

    found = voxcycle.solve(coefficient(ball.detach(), options.grid))
    print(f"{options.steps} steps took {time.monotonic() - begin:.1f} s. The solver's u for the ball "
          f"found is {relative(found.u, measured):.2%} off the measured one (itself proven to "
          f"{found.error_bound:.0e}).")


if __name__ == "__main__":
    main()
