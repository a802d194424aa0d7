# SPDX-License-Identifier: BSD-3-Clause
"""PublishedUnet's forward, see published_unet.hpp."""

from typing import List, Optional

import torch
from torch import Tensor
from torch.nn import Module

from conv import Conv
from frame import Frame
from norm_act import NormAct


class ConvNorm(Module):
    conv: Conv
    norm: NormAct

    def forward(self, x: Tensor) -> Tensor:
        return self.norm.forward(self.conv.forward(x))


class PublishedCore(Module):
    stem: ConvNorm
    ascending_down: List[ConvNorm]  # from the finest grid on
    descending_up: List[ConvNorm]
    descending_fuse: List[ConvNorm]
    head: Conv

    def forward(self, x: Tensor, finer: Optional[Tensor]) -> Tensor:
        """Features."""
        h = self.stem.forward(x)
        if finer is not None:
            h = h + finer
        skipped: List[Tensor] = []
        for down in self.ascending_down:
            skipped.append(h)
            h = down.forward(h)
        for (up, fuse) in zip(self.descending_up, self.descending_fuse):
            h = fuse.forward(torch.cat([skipped.pop(), up.forward(h)], 1))
        return h


class PublishedStage(Module):
    n: int  # the grid
    scale: float  # of the correction
    stem: ConvNorm
    down: Conv
    up: ConvNorm
    fuse: ConvNorm
    head: Conv


class PublishedUnet(Module):
    core: PublishedCore
    frame: Frame
    ascending_stage: List[PublishedStage]  # the finest is outermost
    descending_stage: List[PublishedStage]
    depth: int
    coarsest: int  # level of the network without stages; 0: any
    finest: int
    too_coarse: int

    def require_fits(self, nx: int, ny: int, nz: int) -> None:
        n = max(max(nx, ny), nz)
        parts = 1 << self.depth
        if self.coarsest > 0:
            level = self.coarsest
            while level < n:
                level = 2 * level
                parts = 2 * parts
            assert level == n and n <= self.finest, (
                "network: grid {}x{}x{} has no stage of its own. Its largest number of voxels "
                "along an axis must be {}, or double it, up to {}.").format(
                nx, ny, nz, self.coarsest, self.finest)
        assert nx % parts == 0 and ny % parts == 0 and nz % parts == 0, (
            "network: grid {}x{}x{} cannot be halved {} times. Every axis must be a multiple of "
            "{}.").format(nx, ny, nz, self.depth, parts)
        assert self.coarsest > 0 or n > self.too_coarse, (
            "network: grid {}x{}x{} is too coarse for its normalisation. Some axis must have more "
            "than {} voxels.").format(nx, ny, nz, self.too_coarse)

    def forward(self, x: Tensor) -> Tensor:
        n = max(max(x.size(2), x.size(3)), x.size(4))
        finer_x: List[Tensor] = []
        features: List[Tensor] = []
        finer: Optional[Tensor] = None
        for stage in self.descending_stage:
            if n >= stage.n:
                h = stage.stem.forward(x)
                if finer is not None:
                    h = h + finer
                features.append(h)
                finer_x.append(x)
                finer = stage.down.forward(h)
                x = torch.avg_pool3d(x, [2, 2, 2])
        g = self.core.forward(x, finer)
        frame = self.frame
        mask = frame.mask(x)
        lift = frame.lift(x)
        u = lift * (1. - mask) + lift.min() * mask
        u = frame.smooth(u + mask * frame.size * torch.sigmoid(self.core.head.forward(g)), x)
        for stage in self.ascending_stage:
            if n >= stage.n:
                x = finer_x.pop()
                g = stage.fuse.forward(torch.cat([features.pop(), stage.up.forward(g)], 1))
                u = frame.raised_by_averages(u, x)
                u = u + frame.mask(x) * frame.size * (stage.head.forward(g) * stage.scale)
                u = frame.smooth(u, x)
        return u
