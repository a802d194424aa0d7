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
        for t in range(self.times(27, nu)):
            o = self.offset(t)
            total = torch.zeros_like(self.window(around, [0, 0, 0], size, 1))
            for v in range(self.times(8, nu)):
                side = [v // 4, v // 2 % 2, v % 2]
                holds_both = True
                for a in range(3):
                    holds_both = holds_both and (o[a] == 0 or 2 * side[a] - 1 == o[a])
                if holds_both:
                    total = total + self.window(around, side, size, 1)
            entries.append(total * values[abs(o[0]) + abs(o[1]) + abs(o[2])])
        return torch.cat(entries, 1)

    def placed(self, x: Tensor, first: List[int], n: List[int]) -> Tensor:
        """x from `first` on among n points, and 0 on the others."""
        ends = [n[0] - first[0] - x.size(2), n[1] - first[1] - x.size(3),
                n[2] - first[2] - x.size(4)]
        return torch.constant_pad_nd(
            x, [first[2], ends[2], first[1], ends[1], first[0], ends[0]], 0.)

    def weights_to(self, entries: Tensor, weights: List[Tensor], odd: List[int]) -> None:
        n = self.points(weights[13])
        size = [n[0] - odd[0], n[1] - odd[1], n[2] - odd[2]]
        here = torch.split(self.window(entries, odd, size, 2), 1, 1)
        collapsed: List[Tensor] = []
        for t in range(27):
            collapsed.append(torch.zeros_like(here[t]))
        for t in range(self.times(27, entries)):
            o = self.offset(t)
            d = self.number([odd[0] * o[0], odd[1] * o[1], odd[2] * o[2]])
            if d != 13:
                collapsed[d] = collapsed[d] - here[t]
        total = torch.cat(collapsed, 1).sum(1, True)
        corners: List[int] = []
        shares: List[Tensor] = []
        for c in range(self.times(27, entries)):
            corner = self.offset(c)
            if [abs(corner[0]), abs(corner[1]), abs(corner[2])] == odd:
                first = [max(corner[0], 0), max(corner[1], 0), max(corner[2], 0)]
                share = torch.zeros_like(total)
                for d in range(self.times(27, entries)):
                    o = self.offset(d)
                    towards = d != 13
                    for a in range(3):
                        towards = towards and (o[a] == 0 or o[a] == corner[a])
                    if towards:
                        known = self.window(weights[13 + d - c], first, size, 1)
                        share = share + collapsed[d] * known
                corners.append(c)
                shares.append(share / total)
        least = 0. if len(corners) == 2 else -1.
        most = 1. if len(corners) == 2 else 2.
        sense = total > 0
        for share in shares:
            sense = sense & (share >= least) & (share <= most)
        plain = torch.full_like(total, 1. / len(corners))
        for k in range(len(corners)):
            corner = self.offset(corners[k])
            first = [max(corner[0], 0), max(corner[1], 0), max(corner[2], 0)]
            share = torch.where(sense, shares[k], plain)
            weights[26 - corners[k]] = self.placed(share, first, n)

    def weights_of(self, entries: Tensor) -> Tensor:
        n = self.points(entries)
        shape = [entries.size(0), 1, n[0] // 2 + 1, n[1] // 2 + 1, n[2] // 2 + 1]
        weights: List[Tensor] = []
        for t in range(27):
            weights.append(entries.new_zeros(shape))
        weights[13] = torch.ones_like(weights[13])
        for count in range(1, self.times(4, entries)):
            for k in range(1, self.times(8, entries)):
                odd = [k // 4, k // 2 % 2, k % 2]
                if odd[0] + odd[1] + odd[2] == count:
                    self.weights_to(entries, weights, odd)
        return torch.cat(weights, 1).float().double()

    def coarse_entries(self, fine: Tensor, weights: Tensor) -> Tensor:
        n = self.points(weights)
        around, around_weights = self.padded(fine), self.padded(weights)
        p = torch.split(weights, 1, 1)
        rows: List[List[Tensor]] = []  # of the fine nodes around each coarse node
        for i in range(self.times(27, fine)):
            f = self.offset(i)
            row = self.window(around, [1 + f[0], 1 + f[1], 1 + f[2]], n, 2)
            rows.append(torch.split(row, 1, 1))
        entries: List[Tensor] = []
        for s in range(27):
            entries.append(torch.zeros_like(p[s]))
        for s in range(14, self.times(27, fine)):
            step = self.offset(s)
            q = torch.split(self.shifted(around_weights, s, n, 1), 1, 1)
            total = torch.zeros_like(p[0])
            for i in range(self.times(27, fine)):
                f = self.offset(i)
                flow = torch.zeros_like(total)
                for t in range(self.times(27, fine)):
                    o = self.offset(t)
                    g = [f[0] + o[0] - 2 * step[0], f[1] + o[1] - 2 * step[1],
                         f[2] + o[2] - 2 * step[2]]
                    if max(max(abs(g[0]), abs(g[1])), abs(g[2])) <= 1:
                        flow = flow + rows[i][t] * q[self.number(g)]
                total = total + p[i] * flow
            entries[s] = total.float().double()
            entries[26 - s] = self.shifted(self.padded(entries[s]), 26 - s, n, 1)
        entries[13] = -torch.cat(entries, 1).sum(1, True)
        return torch.cat(entries, 1)

    def interpolated(self, weights: Tensor, u: Tensor) -> Tensor:
        n = self.points(u)
        fine = u.new_zeros([u.size(0), 1, 2 * n[0] + 1, 2 * n[1] + 1, 2 * n[2] + 1])
        for t in range(self.times(27, u)):
            self.shifted(fine, t, n, 2).add_(weights.narrow(1, t, 1) * u)
        return self.window(fine, [1, 1, 1], [2 * n[0] - 1, 2 * n[1] - 1, 2 * n[2] - 1], 1)

    def restricted(self, weights: Tensor, r: Tensor) -> Tensor:
        around = self.padded(r)
        total = torch.zeros_like(weights.narrow(1, 0, 1))
        for t in range(self.times(27, r)):
            part = self.shifted(around, t, self.points(weights), 2)
            total = total + weights.narrow(1, t, 1) * part
        return total
