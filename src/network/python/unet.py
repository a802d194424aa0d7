# SPDX-License-Identifier: BSD-3-Clause
"""UnetNetwork's forward, see unet_network.hpp."""

from typing import List

import torch
from torch import Tensor
from torch.nn import Module

from block import Block
from conv import Conv
from frame import Frame
from norm_act import NormAct


class Residual(Module):
    conv1: Conv
    norm: NormAct
    conv2: Conv

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv2.forward(self.norm.forward(self.conv1.forward(x)))


class UnetCore(Module):
    ascending_enc: List[Block]  # from the finest grid on
    ascending_down: List[Conv]
    descending_up: List[Conv]
    descending_dec: List[Block]

    def forward(self, x: Tensor) -> Tensor:
        skipped: List[Tensor] = []
        for (enc, down) in zip(self.ascending_enc, self.ascending_down):
            h = enc.forward(x)
            skipped.append(h)
            x = down.forward(h)
        g = self.ascending_enc[-1].forward(x)
        for (up, dec) in zip(self.descending_up, self.descending_dec):
            g = dec.forward(torch.cat([skipped.pop(), up.forward(g)], 1))
        return g


class UnetExtra(Module):
    n: int  # the level
    before: Residual
    after: Residual


class UnetNetwork(Module):
    stem: Conv
    core: UnetCore
    head: Conv
    frame: Frame
    ascending_extra: List[UnetExtra]  # the finest is outermost
    descending_extra: List[UnetExtra]
    depth: int
    levels: List[int]  # whose extras there are, and the coarsest; empty without adaptation
    too_coarse: int

    def require_fits(self, nx: int, ny: int, nz: int) -> None:
        n = max(max(nx, ny), nz)
        parts = 1 << self.depth
        assert nx % parts == 0 and ny % parts == 0 and nz % parts == 0, (
            "network: grid {}x{}x{} cannot be halved {} times. Every axis must be a multiple of "
            "{}.").format(nx, ny, nz, self.depth, parts)
        assert len(self.levels) == 0 or n in self.levels, (
            "network: grid {}x{}x{} has no layers of its own. Its largest number of voxels along "
            "an axis must be one of {}.").format(
            nx, ny, nz, ", ".join([str(level) for level in self.levels]))
        assert n > self.too_coarse, (
            "network: grid {}x{}x{} is too coarse for its normalisation. Some axis must have more "
            "than {} voxels.").format(nx, ny, nz, self.too_coarse)

    def forward(self, x: Tensor) -> Tensor:
        n = max(max(x.size(2), x.size(3)), x.size(4))
        h = self.stem.forward(x)
        for extra in self.descending_extra:
            if n >= extra.n:
                h = extra.before.forward(h)
        g = self.core.forward(h)
        for extra in self.ascending_extra:
            if n >= extra.n:
                g = extra.after.forward(g)
        frame = self.frame
        u = frame.lift(x) + frame.mask(x) * frame.size * self.head.forward(g)
        return frame.smooth(u, x)
