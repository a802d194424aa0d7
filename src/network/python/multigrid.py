# SPDX-License-Identifier: BSD-3-Clause
"""MultigridNetwork's forward, see multigrid_network.hpp, for each kind of coarse level.

`grids` holds x on all grids of a pass, the finest first; `prepared` is what they need of the
equation.
"""

from typing import List, Optional

import torch
from torch import Tensor
from torch.nn import Module

from block import Block
from conv import Conv
from nested_frame import NestedFrame


class MultigridLevel(Module):
    n: int
    scale: float  # of the correction
    stem: Conv
    enc: Block
    head: Conv  # not on the coarsest level of a subspace, nor on any coarsest the three below
    down: Conv
    up: Conv
    dec: Block
    residual: Conv  # where blocks see the residual

    def encode(self, x: Tensor, finer: Optional[Tensor]) -> Tensor:
        h = self.stem.forward(x)
        if finer is not None:
            h = h + finer
        return self.enc.forward(h)


class MultigridNetwork(Module):
    """With CoarseLevels::averaged."""

    frame: NestedFrame
    ascending_level: List[MultigridLevel]
    descending_level: List[MultigridLevel]
    levels: List[int]
    smooths: bool

    def prepare(self, grids: List[Tensor]) -> List[List[Tensor]]:
        return []

    def coarsest(self, prepared: List[List[Tensor]], grids: List[Tensor]) -> Tensor:
        return self.frame.lift(grids[-1])

    def raised(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int,
               u: Tensor) -> Tensor:
        return self.frame.raised_by_averages(u, grids[k])

    def smoothed(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int,
                 u: Tensor) -> Tensor:
        return self.frame.smooth(u, grids[k])

    def corrected(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int, u: Tensor,
                  head: Tensor, scale: float) -> Tensor:
        u = u + self.frame.mask(grids[k]) * self.frame.size * (head * scale)
        return self.smoothed(prepared, grids, k, u)

    def longest(self, x: Tensor) -> int:
        return max(max(x.size(2), x.size(3)), x.size(4))

    def block_of(self, n: int) -> int:
        while self.smooths and n > self.levels[-1] and n % 2 == 0:
            n = n // 2
        for level in self.levels:
            if level >= n:
                return level if level < 2 * n else 0
        return 0

    def scale_of(self, scale: float, of: int, x: Tensor) -> float:
        """Of a level's correction on the grid of x."""
        n = self.longest(x)
        return scale if of == n else scale * of / n

    def require_fits(self, nx: int, ny: int, nz: int) -> None:
        n = max(max(nx, ny), nz)
        known = ", ".join([str(level) for level in self.levels])
        if self.smooths:
            known = known + ", or double the last"
        assert self.block_of(n) > 0, (
            "network: no level for grid {}x{}x{}. Its largest number of voxels along an axis must "
            "be one of {}.").format(nx, ny, nz, known)
        parts = 1
        while n > self.levels[0]:
            n = n // 2
            parts = 2 * parts
        assert nx % parts == 0 and ny % parts == 0 and nz % parts == 0, (
            "network: grid {}x{}x{} cannot be halved down to level {}. Every axis must be a "
            "multiple of {}.").format(nx, ny, nz, self.levels[0], parts)

    def forward(self, x: Tensor) -> Tensor:
        grids = [x]
        while self.longest(grids[-1]) > self.levels[0]:
            grids.append(torch.avg_pool3d(grids[-1], [2, 2, 2]))
        prepared = self.prepare(grids)

        n = self.block_of(self.longest(x))
        k = 0
        while self.longest(grids[k]) > n:
            k += 1
        features: List[Tensor] = []
        finer: Optional[Tensor] = None
        for level in self.descending_level:
            if level.n <= n:
                h = level.encode(grids[k], finer)
                features.append(h)
                k += 1
                if hasattr(level, "down"):
                    finer = level.down.forward(h)

        g = features[-1]
        u = self.coarsest(prepared, grids)
        for level in self.ascending_level:
            if level.n <= n:
                k -= 1
                h = features.pop()
                if hasattr(level, "up"):
                    u = self.raised(prepared, grids, k, u)
                    g = level.up.forward(g)
                    if hasattr(level, "residual"):
                        g = g + level.residual.forward(self.frame.residual_input(u, grids[k]))
                    g = level.dec.forward(torch.cat([h, g], 1))
                if hasattr(level, "head"):
                    u = self.corrected(prepared, grids, k, u, level.head.forward(g),
                                       self.scale_of(level.scale, level.n, grids[k]))
                else:
                    u = self.smoothed(prepared, grids, k, u)
        while k > 0:
            k -= 1
            u = self.smoothed(prepared, grids, k, self.raised(prepared, grids, k, u))
        return u


class ResidualMultigrid(MultigridNetwork):
    """With NetworkOptions::residual_input: the frame's one step is what blocks see."""

    def smoothed(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int,
                 u: Tensor) -> Tensor:
        return u


class BlackBoxMultigrid(MultigridNetwork):
    """With CoarseLevels::black_box."""

    def prepare(self, grids: List[Tensor]) -> List[List[Tensor]]:
        return self.frame.nest(grids)

    def coarsest(self, prepared: List[List[Tensor]], grids: List[Tensor]) -> Tensor:
        return prepared[-1][1]

    def raised(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int,
               u: Tensor) -> Tensor:
        return self.frame.raised(prepared[k], u, grids[k])

    def smoothed(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int,
                 u: Tensor) -> Tensor:
        return self.frame.smooth_nested(prepared[k], u)


class SubspaceMultigrid(BlackBoxMultigrid):
    """With a correction subspace: the best combination of those that the head proposes."""

    def corrected(self, prepared: List[List[Tensor]], grids: List[Tensor], k: int, u: Tensor,
                  head: Tensor, scale: float) -> Tensor:
        return self.frame.corrected(prepared[k], u, head, grids[k])
