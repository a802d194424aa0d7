# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of 27 entries per node, [n, 27, nodes], as in poisson/multigrid/stencil_operator.cpp.

Offsets are numbered by 9 (dx + 1) + 3 (dy + 1) + dz + 1: 13 is the node itself.
"""

from typing import List

import torch
from torch import Tensor
from torch.nn import Module


class Stencil(Module):
    def offset(self, t: int) -> List[int]:
        return [t // 9 - 1, t // 3 % 3 - 1, t % 3 - 1]

    def number(self, o: List[int]) -> int:
        return 9 * (o[0] + 1) + 3 * (o[1] + 1) + o[2] + 1

    def points(self, x: Tensor) -> List[int]:
        return [x.size(2), x.size(3), x.size(4)]

    def times(self, n: int, x: Tensor) -> int:
        """n, unknown before x is there: torch.jit.freeze writes out loops whose length it knows."""
        return n * (x.dim() // 5)

    def window(self, x: Tensor, first: List[int], size: List[int], step: int) -> Tensor:
        for a in range(3):
            if step != 1 or size[a] != x.size(2 + a):  # gradients of slices are as large as x
                x = torch.slice(x, 2 + a, first[a], first[a] + step * (size[a] - 1) + 1, step)
        return x

    def padded(self, x: Tensor) -> Tensor:
        return torch.constant_pad_nd(x, [1, 1, 1, 1, 1, 1], 0.)

    def shifted(self, padded: Tensor, t: int, size: List[int], step: int) -> Tensor:
        o = self.offset(t)
        return self.window(padded, [1 + o[0], 1 + o[1], 1 + o[2]], size, step)

    def product(self, entries: Tensor, u: Tensor) -> Tensor:
        around = self.padded(u)
        entry = torch.split(entries, 1, 1)
        total = torch.zeros_like(u)
        for t in range(self.times(27, u)):
            if t != 13:
                flow = self.shifted(around, t, self.points(u), 1) - u
                total = total + entry[t] * flow
        return total

    def dots(self, a: Tensor, b: Tensor) -> Tensor:
        return (a * b).flatten(1).sum(1)

    def random_start(self, like: Tensor) -> Tensor:
        """That of the C++, see core/random.hpp."""
        weyl = -7046029254386353131
        state = torch.bitwise_xor(torch.arange(like[0].numel(), device=like.device), weyl) + weyl
        state = torch.bitwise_xor(state, (state >> 30) & 17179869183) * -4658895280553007687
        state = torch.bitwise_xor(state, (state >> 27) & 137438953471) * -7723592293110705685
        state = torch.bitwise_xor(state, (state >> 31) & 8589934591)
        uniform = ((state >> 11) & 9007199254740991).double() / 9007199254740992.
        return (uniform - 0.5).view(like[0:1].size()).expand(like.size())

    def share(self, part: Tensor, whole: Tensor) -> Tensor:
        return torch.where(whole > 0, part / whole, torch.zeros_like(whole))

    def top_of(self, entries: Tensor) -> Tensor:
        """The largest eigenvalue of D^-1 K, as poisson/multigrid/lanczos.hpp finds it."""
        steps = 12
        field = [entries.size(0), 1, 1, 1, 1]
        scale = entries.narrow(1, 13, 1).rsqrt()
        y = self.random_start(scale)
        other = torch.zeros_like(y)
        norm = self.dots(y, y)
        before = torch.zeros_like(norm)
        t = torch.zeros([norm.size(0), steps, steps], device=norm.device).double()
        for j in range(self.times(steps, y)):
            product = scale * self.product(entries, scale * y)
            alpha = self.share(self.dots(y, product), norm)
            beta2 = self.share(norm, before)
            t.select(1, j).select(1, j).copy_(alpha)
            if j > 0:
                t.select(1, j).select(1, j - 1).copy_(beta2.sqrt())
                t.select(1, j - 1).select(1, j).copy_(beta2.sqrt())
            other = product - alpha.view(field) * y - beta2.view(field) * other
            y, other = other, y
            before = norm
            norm = self.dots(y, y)
        power = torch.matrix_power(t / torch.amax(t, [1, 2], True), 256)
        top = (power * t).sum([1, 2]) / torch.diagonal(power, 0, 1, 2).sum(1)
        return 1.05 * top.view(field)
