# SPDX-License-Identifier: BSD-3-Clause
"""The equation on nested grids, as poisson/nested_equation.hpp has it."""

from typing import List

import torch
from torch import Tensor

from black_box import BlackBoxFrame


class NestedFrame(BlackBoxFrame):
    def direct(self, entries: Tensor, load: Tensor, x: Tensor) -> Tensor:
        lift = self.lift(x).double().expand(load.size())
        mask = self.mask(x).double().flatten()
        residual = (load - self.product(entries, lift)).flatten(1) * mask
        nodes = mask.numel()
        units = torch.eye(nodes, device=x.device).double()
        unit_fields = units.view([nodes, 1, lift.size(2), lift.size(3), lift.size(4)])
        solutions: List[Tensor] = []
        for k in range(entries.size(0)):
            matrix = self.product(entries[k:k + 1], unit_fields).flatten(1)
            matrix = matrix * mask * mask.unsqueeze(1)
            if len(self.faces) == 0:
                matrix = matrix + matrix.diagonal().max() / nodes
            solutions.append(torch.linalg_solve(matrix + torch.diag(1. - mask), residual[k]))
        return lift + torch.stack(solutions).view(lift.size())

    def nest(self, grids: List[Tensor]) -> List[List[Tensor]]:
        """What the levels of a pass need, for its grids, the finest first: each a list of

        0  weights of the interpolation from the next coarser grid [n, 27, its nodes]
        1  u on the coarsest grid; of the others, nothing
        2  entries of the matrix [n, 27, nodes]; of the finest, nu [n, 1, voxels] (see stiffness)
        3  Jacobi weights
        4  the load
        """
        nested: List[List[Tensor]] = []
        nothing = torch.zeros([0], device=grids[0].device)
        load = self.load(grids[0]).double()
        nu = torch.exp(grids[0][:, 0:1])
        entries = self.entries_of_voxels(nu)
        for level, x in enumerate(grids):
            weights = nothing
            solution = nothing
            if level + 1 < len(grids):
                weights = self.weights_of(entries)
            else:
                solution = self.direct(entries, load, x).float()
            if level == 0:
                nested.append([weights.float(), solution, nu, self.jacobi(x), load.float()])
            else:
                jacobi = self.mask(x) / (self.top_of(entries) * entries.narrow(1, 13, 1)).float()
                nested.append([weights.float(), solution, entries.float(), jacobi, load.float()])
            if level + 1 < len(grids):
                entries = self.coarse_entries(entries, weights)
                load = self.restricted(weights, load).float().double()
        return nested

    def raised(self, level: List[Tensor], u: Tensor, x: Tensor) -> Tensor:
        return torch.where(self.mask(x) > 0, self.interpolated(level[0], u), self.lift(x))

    def smooth_nested(self, level: List[Tensor], u: Tensor) -> Tensor:
        return self.steps_on(level[2], level[3], level[4], u)

    def corrected(self, level: List[Tensor], u: Tensor, directions: Tensor, x: Tensor) -> Tensor:
        """Of all sums of smoothed u and smoothed directions, the one with the least energy."""
        mask = self.mask(x)
        u = self.smooth_nested(level, u)
        residual = level[4] - self.stiffness(level[2], u)
        v: List[Tensor] = []
        rows: List[Tensor] = []
        load: List[Tensor] = []
        for j in range(directions.size(1)):
            direction = mask * directions.narrow(1, j, 1)
            v.append(self.steps_on(level[2], level[3], torch.zeros_like(u), direction))
        for a in v:
            stress = self.stiffness(level[2], a)
            rows.append(torch.stack([self.dots(b.double(), stress.double()) for b in v], 1))
            load.append(self.dots(a.double(), residual.double()))
        matrix = torch.stack(rows, 1)
        matrix = (matrix + matrix.transpose(1, 2)) / 2.
        diagonal = torch.diagonal(matrix, 0, 1, 2)
        scale = torch.where(diagonal > 0, diagonal.rsqrt(), torch.zeros_like(diagonal))
        ridge = 1e-5 * torch.eye(len(v), device=x.device).double()
        scaled = matrix * scale.unsqueeze(1) * scale.unsqueeze(2) + ridge
        weights = scale.unsqueeze(2) * torch.linalg_solve(
            scaled, scale.unsqueeze(2) * torch.stack(load, 1).unsqueeze(2))
        for j in range(len(v)):
            u = u + weights[:, j].float().view([-1, 1, 1, 1, 1]) * v[j]
        return u
