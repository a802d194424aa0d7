# SPDX-License-Identifier: BSD-3-Clause
"""What a network knows of the equation on the grid of x, its input there [n, 1 or 2, nx, ny, nz].

In float32, for cubic voxels and a longest edge of 1, measured from the boundary's datum, and all
divided by h.
"""

from typing import List, Tuple

import torch
from torch import Tensor

from stencil import Stencil


class Frame(Stencil):
    faces: List[Tuple[int, int, float]]  # axis, side, Dirichlet value; the last wins on edges
    steps: List[Tuple[float, float]]  # keep, take
    constant_source: float
    source_rms: float  # of a sampled source, by which x was divided
    size: float  # of solutions
    haar: Tensor  # [8, 1, 2, 2, 2]
    spectrum: Tensor  # eigenvalues of a voxel's K at nu = 1 over squared lengths [1, 8, 1, 1, 1]
    top: float  # the largest eigenvalue of D^-1 K of a voxel

    def shape(self, x: Tensor) -> List[int]:
        return [1, 1, x.size(2) + 1, x.size(3) + 1, x.size(4) + 1]

    def mask(self, x: Tensor) -> Tensor:
        mask = torch.ones(self.shape(x), device=x.device)
        for axis, side, value in self.faces:
            mask.select(2 + axis, -side).zero_()
        return mask

    def lift(self, x: Tensor) -> Tensor:
        """See poisson/boundary.hpp."""
        lift = torch.zeros(self.shape(x), device=x.device).double()
        if len(self.faces) == 0:
            return lift.float()
        weights = torch.zeros_like(lift)
        for axis, side, value in self.faces:
            n = x.size(2 + axis)
            steps = torch.arange(n + 1, device=x.device).double()
            if side == 1:
                steps = n - steps
            view = [1, 1, 1, 1, 1]
            view[2 + axis] = n + 1
            weight = torch.reciprocal(steps).reshape(view)
            weights = weights + weight
            lift = lift + weight * value
        lift = lift / weights
        for axis, side, value in self.faces:
            lift.select(2 + axis, -side).fill_(value)
        return lift.float()

    def load(self, x: Tensor) -> Tensor:
        corners = torch.ones_like(self.haar[0:1])
        h = 1. / max(max(x.size(2), x.size(3)), x.size(4))
        f = torch.full_like(x[:, 0:1], self.constant_source)
        if x.size(1) == 2:
            f = x[:, 1:2] * self.source_rms
        return torch.conv_transpose3d(f * (h * h / 8.), corners, None, [1, 1, 1])

    def raised_by_averages(self, u: Tensor, x: Tensor) -> Tensor:
        nodes = [x.size(2) + 1, x.size(3) + 1, x.size(4) + 1]
        u = torch.upsample_trilinear3d(u, nodes, True)
        return torch.where(self.mask(x) > 0, u, self.lift(x))

    def jacobi(self, x: Tensor) -> Tensor:
        corners = torch.ones_like(self.haar[0:1])
        diagonal = torch.conv_transpose3d(torch.exp(x[:, 0:1]) / 3., corners, None, [1, 1, 1])
        return self.mask(x) / (self.top * diagonal)

    def stiffness(self, matrix: Tensor, u: Tensor) -> Tensor:
        """K u, with K given by nu [n, 1, nx, ny, nz] or by entries.

        K of a voxel is diagonal in the Haar basis, see poisson/energy.hpp.
        """
        if matrix.size(1) > 1:
            return self.product(matrix, u)
        stress = torch.conv3d(u, self.haar, None, [1, 1, 1]) * self.spectrum * matrix
        return torch.conv_transpose3d(stress, self.haar, None, [1, 1, 1])

    def steps_on(self, matrix: Tensor, weights: Tensor, b: Tensor, u: Tensor) -> Tensor:
        """Chebyshev-Jacobi steps on K u = b over the free nodes, see poisson/chebyshev_steps.hpp."""
        change = torch.zeros_like(u)
        for keep, take in self.steps:
            change = keep * change + take * (weights * (b - self.stiffness(matrix, u)))
            u = u + change
        return u

    def smooth(self, u: Tensor, x: Tensor) -> Tensor:
        return self.steps_on(torch.exp(x[:, 0:1]), self.jacobi(x), self.load(x), u)

    def residual_input(self, u: Tensor, x: Tensor) -> Tensor:
        """See network/multigrid/residual_input.hpp."""
        n = max(max(x.size(2), x.size(3)), x.size(4))
        change = (self.smooth(u, x) - u) * (n / self.size)
        corners: List[Tensor] = []
        for c in range(self.times(8, x)):
            part = change.narrow(2, c // 4, x.size(2)).narrow(3, c // 2 % 2, x.size(3))
            corners.append(part.narrow(4, c % 2, x.size(4)))
        return torch.cat(corners, 1)
