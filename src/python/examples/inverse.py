#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An inverse problem: which nu has the u that was measured? By gradient descent through a trained
network, and checked by the solver, which knows nothing of the network.

    inverse.py RUN [--grid 16] [--steps 150]        RUN: a run's directory, e.g. runs/demo

u is known on every node (what the solver finds for the nu that is sought), log nu is sought by its
values on a coarse grid. As u does not tell nu from 2 nu, the mean of log nu is 0.
"""

import argparse
import time

import torch
import voxcycle


def coefficient(values, grid):
    """nu [grid, grid, grid] of coarse values of log nu, interpolated."""
    log_nu = torch.nn.functional.interpolate(values[None, None], size=(grid,) * 3, mode="trilinear",
                                             align_corners=True)[0, 0]
    return torch.exp(log_nu - log_nu.mean())


def distance(a, b):
    return ((a - b).norm() / b.norm()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--grid", type=int, default=16)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()

    torch.manual_seed(3)
    model = voxcycle.Model(options.run, precision="f32")
    truth = coefficient(torch.randn(3, 3, 3), options.grid)
    measured = voxcycle.solve(truth).u.float()

    values = torch.zeros(3, 3, 3, requires_grad=True)
    optimizer = torch.optim.Adam([values], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    begin = time.monotonic()
    for step in range(options.steps + 1):
        nu = coefficient(values, options.grid)
        misfit = (model(nu) - measured).square().mean()
        if step % 25 == 0 or step == options.steps:
            print(f"step {step:4d}: misfit {misfit.item():.3e}, "
                  f"log nu off by {distance(nu.log(), truth.log()):.1%}")
        optimizer.zero_grad()
        misfit.backward()
        optimizer.step()
        schedule.step()

    found = voxcycle.solve(nu.detach())
    start = voxcycle.solve(torch.ones_like(truth)).u
    print(f"{options.steps} steps took {time.monotonic() - begin:.1f} s. For the nu found, the solver's u "
          f"is off the measured one by {distance(found.u, measured):.2%} (proven to "
          f"{found.error_bound:.0e}), for nu = 1 by {distance(start, measured):.2%}.")


if __name__ == "__main__":
    main()
