#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A training step of a U-Net in plain PyTorch on a GPU, step by step and as a CUDA graph.

    unet_step_in_pytorch.py [--grids 16:8,32:8,64:8,128:2]     (grid:batch)

The counterpart of `voxcycle bench step --network.name unet --network.depth 4 --network.smoothing 0
--run.device cuda`, with and without `--run.graph yes`: convolutions in bf16, channels last, the
energy in float32, fused Adam. One line per grid: milliseconds of a step, the median of 30.
Exit status 77 (skipped) where Python has no torch with a GPU.
"""

import argparse
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except (ImportError, OSError) as error:
    print(f"skipped: this Python has no torch that works ({error})")
    sys.exit(77)


class Block(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.first = nn.Conv3d(inputs, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm3d(channels)
        self.second = nn.Conv3d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm3d(channels)

    def forward(self, x):
        x = F.leaky_relu(self.first_norm(self.first(x)), 0.2)
        return F.leaky_relu(self.second_norm(self.second(x)), 0.2)


class UNet(nn.Module):
    def __init__(self, channels=16, depth=4):
        super().__init__()
        widths = [channels << k for k in range(depth + 1)]
        self.stem = nn.Conv3d(1, channels, 3, padding=1)
        self.encoders = nn.ModuleList(Block(c, c) for c in widths)
        self.down = nn.ModuleList(nn.Conv3d(c, 2 * c, 2, 2) for c in widths[:-1])
        self.up = nn.ModuleList(nn.ConvTranspose3d(2 * c, c, 2, 2) for c in widths[:-1])
        self.decoders = nn.ModuleList(Block(2 * c, c) for c in widths[:-1])
        self.head = nn.Conv3d(channels, 1, 2, padding=1)  # voxels to nodes

    def forward(self, x):
        levels = [self.encoders[0](self.stem(x))]
        for down, encoder in zip(self.down, self.encoders[1:]):
            levels.append(encoder(down(levels[-1])))
        y = levels.pop()
        for skip, up, decoder in zip(reversed(levels), reversed(self.up), reversed(self.decoders)):
            y = decoder(torch.cat([skip, up(y)], 1))
        return self.head(y)


def element_matrix(device):
    """Of a voxel with unit edges: [8, 8], corners in x, y, z order."""
    stiffness = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], device=device)
    mass = torch.tensor([[2.0, 1.0], [1.0, 2.0]], device=device) / 6
    terms = ((stiffness, mass, mass), (mass, stiffness, mass), (mass, mass, stiffness))
    return sum(torch.einsum("ab,cd,ef->acebdf", *term).reshape(8, 8) for term in terms)


def energy(u, nu, matrix):
    n = nu.shape[-1]
    corners = [u[..., i:n + i, j:n + j, k:n + k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    u = torch.stack(corners, -1)
    return 0.5 * ((u @ matrix) * u).sum(-1).mul(nu).sum((1, 2, 3, 4)) / n


def make_step(n, batch, device="cuda"):
    net = UNet().to(device).to(memory_format=torch.channels_last_3d)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True, capturable=True)
    nu = torch.exp(0.3 * torch.randn(batch, 1, n, n, n, device=device))
    x = nu.log().contiguous(memory_format=torch.channels_last_3d)
    inside = torch.ones(1, 1, n + 1, n + 1, n + 1, device=device)
    inside[:, :, [0, -1]] = 0
    lift = torch.linspace(1, 0, n + 1, device=device)[:, None, None].expand(n + 1, n + 1, n + 1)
    matrix = element_matrix(device)

    def step():
        with torch.autocast(device, torch.bfloat16):
            y = net(x)
        loss = (energy(lift + inside * y.float(), nu, matrix) / nu.mean((1, 2, 3, 4))).mean()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()

    return step


def recorded(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def milliseconds(step):
    times = []
    for turn in range(35):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if turn >= 5:
            times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grids", default="16:8,32:8,64:8,128:2")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no GPU that torch can use")
        return 77
    torch.backends.cudnn.benchmark = True
    for case in options.grids.split(","):
        n, batch = map(int, case.split(":"))
        step = make_step(n, batch)
        plain = milliseconds(step)
        print(f"{n}^3, batch {batch}: {plain:.2f} ms, as a graph {milliseconds(recorded(step)):.2f} ms",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
