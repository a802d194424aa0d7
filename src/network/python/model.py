# SPDX-License-Identifier: BSD-3-Clause
"""The network as its users call it."""

from typing import List, Tuple, Union

import torch
from torch import Tensor
from torch.nn import Module

from multigrid import MultigridNetwork
from published import PublishedUnet
from unet import UnetNetwork


class Model(Module):
    network: Union[MultigridNetwork, PublishedUnet, UnetNetwork]
    datum: float
    faces: List[Tuple[int, int, float]]  # axis, side, Dirichlet value; the last wins on edges
    source_rms: float

    def require_field(self, x: Tensor, name: str) -> None:
        assert x.dim() == 5 and x.size(1) == 1 and torch.is_floating_point(x), ("{} has shape {}, "
            "expected [B, 1, nx, ny, nz] of float32 or float64.").format(name, x.shape)

    def log_of(self, nu: Tensor) -> Tensor:
        self.require_field(nu, "nu")
        self.network.require_fits(nu.size(2), nu.size(3), nu.size(4))
        values = nu.float()
        assert bool(((values > 0) & torch.isfinite(values)).all()), ("nu has values that are not "
            "positive and finite (pass nu, not its logarithm).")
        return torch.log(values)

    def u_of(self, x: Tensor) -> Tensor:
        """The network's u is measured from the datum; float64 where there is one."""
        u = self.network.forward(x)
        if self.datum == 0.:
            return u
        u = u.double() + self.datum
        for axis, side, value in self.faces:
            u.select(2 + axis, -side).fill_(value)
        return u


class ModelOfNu(Model):
    def forward(self, nu: Tensor) -> Tensor:
        return self.u_of(self.log_of(nu))


class ModelOfNuAndF(Model):
    def forward(self, nu: Tensor, f: Tensor) -> Tensor:
        log_nu = self.log_of(nu)
        self.require_field(f, "f")
        assert f.shape == nu.shape, "f has shape {}, nu {}: they must be equal.".format(
            f.shape, nu.shape)
        return self.u_of(torch.cat([log_nu, f.float() / self.source_rms], 1))
