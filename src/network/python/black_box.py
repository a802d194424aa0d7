# SPDX-License-Identifier: BSD-3-Clause
"""Coarser grids by black box, in float64 with weights and entries rounded to float32.

As poisson/multigrid/black_box.cpp makes them (Dendy 1982, 1983).
"""

from typing import List

import torch
from torch import Tensor

from frame import Frame


class BlackBoxFrame(Frame):
    def entries_of_voxels(self, nu: Tensor) -> Tensor:
        size = [nu.size(2) + 1, nu.size(3) + 1, nu.size(4) + 1]
        around = self.padded(nu.double())
        values = [1. / 3., 0., -1. / 12., -1. / 12.]
        entries: List[Tensor] = []
        for t in range(27):
            o = self.offset(t)
            total = torch.zeros_like(self.window(around, [0, 0, 0], size, 1))
            for v in range(8):
                side = [v // 4, v // 2 % 2, v % 2]
                holds_both = True
                for a in range(3):
                    holds_both = holds_both and (o[a] == 0 or 2 * side[a] - 1 == o[a])
                if holds_both:
                    total = total + self.window(around, side, size, 1)
            entries.append(total * values[abs(o[0]) + abs(o[1]) + abs(o[2])])
        return torch.cat(entries, 1)

    def weights_to(self, entries: Tensor, weights: Tensor, odd: List[int]) -> None:
        size = [weights.size(2) - odd[0], weights.size(3) - odd[1], weights.size(4) - odd[2]]
        here = self.window(entries, odd, size, 2)
        collapsed = torch.zeros_like(here)
        for t in range(27):
            o = self.offset(t)
            d = self.number([odd[0] * o[0], odd[1] * o[1], odd[2] * o[2]])
            if d != 13:
                collapsed.select(1, d).sub_(here.select(1, t))
        total = collapsed.sum(1, True)
        corners: List[int] = []
        shares: List[Tensor] = []
        for c in range(27):
            corner = self.offset(c)
            if [abs(corner[0]), abs(corner[1]), abs(corner[2])] == odd:
                first = [max(corner[0], 0), max(corner[1], 0), max(corner[2], 0)]
                share = torch.zeros_like(total)
                for d in range(27):
                    o = self.offset(d)
                    towards = d != 13
                    for a in range(3):
                        towards = towards and (o[a] == 0 or o[a] == corner[a])
                    if towards:
                        known = self.window(weights.narrow(1, 13 + d - c, 1), first, size, 1)
                        known = known.clone()  # gradients need it; weights go on changing
                        share = share + collapsed.narrow(1, d, 1) * known
                corners.append(c)
                shares.append(share / total)
        least = 0. if len(corners) == 2 else -1.
        most = 1. if len(corners) == 2 else 2.
        sense = total > 0
        for share in shares:
            sense = sense & (share >= least) & (share <= most)
        for k in range(len(corners)):
            corner = self.offset(corners[k])
            first = [max(corner[0], 0), max(corner[1], 0), max(corner[2], 0)]
            part = self.window(weights.narrow(1, 26 - corners[k], 1), first, size, 1)
            plain = torch.full_like(total, 1. / len(corners))
            part.copy_(torch.where(sense, shares[k], plain))

    def weights_of(self, entries: Tensor) -> Tensor:
        n = self.points(entries)
        weights = entries.new_zeros(
            [entries.size(0), 27, n[0] // 2 + 1, n[1] // 2 + 1, n[2] // 2 + 1])
        weights.select(1, 13).fill_(1.)
        for count in range(1, 4):
            for k in range(1, 8):
                odd = [k // 4, k // 2 % 2, k % 2]
                if odd[0] + odd[1] + odd[2] == count:
                    self.weights_to(entries, weights, odd)
        return weights.float().double()

    def chosen(self, entries: Tensor, numbers: List[int]) -> Tensor:
        return torch.index_select(entries, 1, torch.tensor(numbers, device=entries.device))

    def coarse_entries(self, fine: Tensor, weights: Tensor) -> Tensor:
        n = self.points(weights)
        around = self.padded(fine)
        p = torch.split(weights, 1, 1)
        at: List[Tensor] = []  # rows of the fine nodes around each coarse node
        for i in range(27):
            f = self.offset(i)
            at.append(self.window(around, [1 + f[0], 1 + f[1], 1 + f[2]], n, 2))
        entries = torch.zeros_like(weights)
        for s in range(14, 27):
            step = self.offset(s)
            size = [n[0] - abs(step[0]), n[1] - abs(step[1]), n[2] - abs(step[2])]
            here = [max(-step[0], 0), max(-step[1], 0), max(-step[2], 0)]
            there = [max(step[0], 0), max(step[1], 0), max(step[2], 0)]
            q = self.window(weights, there, size, 1)
            total = torch.zeros_like(self.window(p[0], here, size, 1))
            for i in range(27):
                f = self.offset(i)
                from_here: List[int] = []
                to_there: List[int] = []
                for t in range(27):
                    o = self.offset(t)
                    g = [f[0] + o[0] - 2 * step[0], f[1] + o[1] - 2 * step[1],
                         f[2] + o[2] - 2 * step[2]]
                    if max(max(abs(g[0]), abs(g[1])), abs(g[2])) <= 1:
                        from_here.append(t)
                        to_there.append(self.number(g))
                if len(from_here) > 0:
                    row = self.window(at[i], here, size, 1)
                    flow = self.chosen(row, from_here) * self.chosen(q, to_there)
                    total = total + self.window(p[i], here, size, 1) * flow.sum(1, True)
            total = total.float().double()
            self.window(entries.narrow(1, s, 1), here, size, 1).add_(total)
            self.window(entries.narrow(1, 26 - s, 1), there, size, 1).add_(total)
        entries.select(1, 13).sub_(entries.sum(1))
        return entries

    def interpolated(self, weights: Tensor, u: Tensor) -> Tensor:
        n = self.points(u)
        fine = u.new_zeros([u.size(0), 1, 2 * n[0] + 1, 2 * n[1] + 1, 2 * n[2] + 1])
        for t in range(27):
            self.shifted(fine, t, n, 2).add_(weights.narrow(1, t, 1) * u)
        return self.window(fine, [1, 1, 1], [2 * n[0] - 1, 2 * n[1] - 1, 2 * n[2] - 1], 1)

    def restricted(self, weights: Tensor, r: Tensor) -> Tensor:
        around = self.padded(r)
        total = torch.zeros_like(weights.narrow(1, 0, 1))
        for t in range(27):
            part = self.shifted(around, t, self.points(weights), 2)
            total = total + weights.narrow(1, t, 1) * part
        return total
