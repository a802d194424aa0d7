# SPDX-License-Identifier: BSD-3-Clause
"""The network as its users call it."""

from typing import List, Tuple, Union

import torch
from torch import Tensor

from checksum import Checksum
from multigrid import MultigridNetwork
from published import PublishedUnet
from unet import UnetNetwork


class Model(Checksum):
    network: Union[MultigridNetwork, PublishedUnet, UnetNetwork]
    datum: float
    faces: List[Tuple[int, int, float]]  # axis, side, Dirichlet value; the last wins on edges
    source_rms: float
    has_unit: bool  # nu as it stands is what the network knows
    linear: bool  # u is proportional to a source of one value
    all_tensors: Tuple[Tensor, ...]  # parameters and buffers, of submodules, too
    dtypes: List[int]  # of all_tensors where they were exported,
    checksum: int  # and their sum there
    checked: bool

    def tensors(self) -> List[Tensor]:
        tensors: List[Tensor] = []
        for tensor in self.all_tensors:
            tensors.append(tensor)
        return tensors

    def types_of_weights(self) -> List[int]:
        types: List[int] = []
        for tensor in self.tensors():
            types.append(tensor.dtype)
        return types

    def checksum_of_weights(self) -> int:
        return self.checksum_of(self.tensors())

    def require_weights(self) -> None:
        """As they were exported; those that were given another type cannot be compared."""
        if not self.checked:
            assert self.types_of_weights() != self.dtypes or (
                self.checksum_of_weights() == self.checksum), (
                "the weights are not those that were exported: the file is damaged, or they were "
                "changed. Copy or export the model again; for weights of your own, set "
                "model.checked = True before the first call.")
            self.checked = True

    def require_sample(self, sample: List[Tensor]) -> None:
        """A file of export --sample holds a checksum behind its tensors."""
        assert int(sample[-1]) == self.checksum_of(sample[:-1]), (
            "the sample does not fit its checksum: the file is damaged. Copy or export it again.")

    def distance(self, u: Tensor, sample: List[Tensor]) -> float:
        """Largest difference from the sample's u, relative to its largest value."""
        return float((u - sample[-2]).abs().max() / sample[-2].abs().max())

    def require_field(self, x: Tensor, name: str) -> None:
        assert x.dim() == 5 and x.size(1) == 1 and torch.is_floating_point(x), ("{} has shape {}, "
            "expected [B, 1, nx, ny, nz] of float32 or float64.").format(name, x.shape)

    def values_of(self, nu: Tensor) -> Tensor:
        self.require_field(nu, "nu")
        self.network.require_fits(nu.size(2), nu.size(3), nu.size(4))
        values = nu.float()
        assert bool(((values > 0) & torch.isfinite(values)).all()), ("nu has values that are not "
            "positive and finite (pass nu, not its logarithm).")
        return values

    def unit_of(self, nu: Tensor) -> Tensor:
        """What to divide each sample's nu and f by, a power of two, as networks know nu around 1;
        1 where 1 is among the values. [B, 1, 1, 1, 1]"""
        axes = [1, 2, 3, 4]
        one = torch.ones_like(nu[:, :, :1, :1, :1])
        if self.has_unit:
            return one
        around_1 = (nu.amin(axes, keepdim=True) <= 1) & (nu.amax(axes, keepdim=True) >= 1)
        exponent = torch.round(torch.log2(nu.double()).mean(axes, keepdim=True))
        return torch.where(around_1, one, torch.exp2(exponent).float())

    def with_datum(self, u: Tensor) -> Tensor:
        """The network's u is measured from the datum; float64 where there is one."""
        if self.datum == 0.:
            return u
        u = u.double() + self.datum
        for axis, side, value in self.faces:
            u.select(2 + axis, -side).fill_(value)
        return u


class ModelOfNu(Model):
    def self_check(self, sample: List[Tensor]) -> float:
        self.require_sample(sample)
        return self.distance(self.forward(sample[0]), sample)

    def forward(self, nu: Tensor) -> Tensor:
        self.require_weights()
        values = self.values_of(nu)
        unit = self.unit_of(values)
        u = self.network.forward(torch.log(values / unit))
        return self.with_datum(u / unit if self.linear else u)


class ModelOfNuAndF(Model):
    def self_check(self, sample: List[Tensor]) -> float:
        self.require_sample(sample)
        return self.distance(self.forward(sample[0], sample[1]), sample)

    def forward(self, nu: Tensor, f: Tensor) -> Tensor:
        self.require_weights()
        values = self.values_of(nu)
        unit = self.unit_of(values)
        self.require_field(f, "f")
        assert f.shape == nu.shape, "f has shape {}, nu {}: they must be equal.".format(
            f.shape, nu.shape)
        x = torch.cat([torch.log(values / unit), f.float() / unit / self.source_rms], 1)
        return self.with_datum(self.network.forward(x))
