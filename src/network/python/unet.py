# SPDX-License-Identifier: BSD-3-Clause
"""UnetNetwork's forward, see unet_network.hpp."""

from typing import List

import torch
from torch import Tensor
from torch.nn import Module

from block import Block
from conv import Conv
from frame import Frame


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


class UnetNetwork(Module):
    stem: Conv
    core: UnetCore
    head: Conv
    frame: Frame
    depth: int
    too_coarse: int

    def require_fits(self, nx: int, ny: int, nz: int) -> None:
        n = max(max(nx, ny), nz)
        parts = 1 << self.depth
        assert nx % parts == 0 and ny % parts == 0 and nz % parts == 0, (
            "network: grid {}x{}x{} cannot be halved {} times. Every axis must be a multiple of "
            "{}.").format(nx, ny, nz, self.depth, parts)
        assert n > self.too_coarse, (
            "network: grid {}x{}x{} is too coarse for its normalisation. Some axis must have more "
            "than {} voxels.").format(nx, ny, nz, self.too_coarse)

    def forward(self, x: Tensor) -> Tensor:
        g = self.core.forward(self.stem.forward(x))
        frame = self.frame
        u = frame.lift(x) + frame.mask(x) * frame.size * self.head.forward(g)
        return frame.smooth(u, x)
