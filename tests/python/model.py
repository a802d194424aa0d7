#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle.Model beside the program, its gradients beside differences; see run.py."""

import copy
import math

import harness
import torch
import voxcycle

# Rounding of float32 through all layers, relative to the largest value.
ROUNDING = 1e-5
# Of a difference's quotient, relative to the gradient's length along it: rounding of float32 over the
# step, and the step squared.
DIFFERENCE = 2e-2
STEP = 1e-2

# Each kind of network and source.
MODELS = {
    "averaged levels": {"problem.boundary": "0.3, flux, flux, -1.7, flux, flux"},
    "nested levels": {"network.coarse": "black_box", "network.smoothing": "2"},
    "a correction subspace": {"network.coarse": "black_box", "network.smoothing": "2",
                              "network.subspace": "2"},
    "residual seen": {"network.smoothing": "0", "network.residual_input": "yes"},
    "unet, sampled source": {"network.name": "unet", "network.depth": "2", "network.norm": "group",
                             "network.base_channels": "4", "problem.source": "sampled"},
    "constant source": {"problem.source": "3", "problem.boundary": "1, 1, flux, flux, flux, flux"},
}


class OfEachKind(harness.Case):
    def setUp(self):
        super().setUp()
        torch.set_num_threads(1)
        torch.manual_seed(1)

    def train(self, changes):
        self.config({"cycle.steps": "3, 2", "train.precision": "f32", **changes})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        self.succeed("export", "--config", "small.cfg", "--out", "m.pt", "--sample", "s.pt")
        return voxcycle.Model(self.scratch / "run")

    def check_values(self, model):
        *inputs, u, _ = torch.load(self.scratch / "s.pt", weights_only=True)
        largest = u.abs().max()

        def distance(v):
            return ((v - u).abs().max() / largest).item()

        found = model(*inputs)
        self.assertEqual(found.dtype, u.dtype)
        self.assertLess(distance(found), ROUNDING)
        self.assertLess(distance(torch.stack([model(*[x[k, 0] for x in inputs])
                                              for k in range(len(u))])[:, None]), ROUNDING)
        strided = [x.double().transpose(2, 4).contiguous().transpose(2, 4) for x in inputs]
        self.assertLess(distance(model(*strided)), ROUNDING)
        exported = torch.jit.load(self.scratch / "m.pt")
        for unit in (2.0**20, 0.1):
            scaled = [x * unit for x in inputs]
            v = exported(*scaled)
            self.assertLess(((model(*scaled) - v).abs().max() / v.abs().max()).item(), ROUNDING)
        return inputs

    def check_gradients(self, model, inputs):
        inputs = [x[:2, :, ::2, ::2, ::2].double().requires_grad_() for x in inputs]
        u = model(*inputs)
        weights = torch.randn(u.shape, dtype=torch.float64)
        (u * weights).sum().backward()
        for k, x in enumerate(inputs):
            self.assertEqual(x.grad.dtype, x.dtype)
            # Along the gradient itself, where rounding matters least.
            along = x.detach().abs() * torch.sign(x.grad) * torch.rand_like(x)
            with torch.no_grad():
                ends = [model(*[y + side * STEP * along if j == k else y
                                for j, y in enumerate(inputs)]) for side in (1, -1)]
            quotient = ((ends[0].double() - ends[1].double()) * weights).sum() / (2 * STEP)
            slope = (x.grad * along).sum()
            self.assertGreater(slope.item(), 0)
            self.assertLess(((quotient - slope).abs() / slope).item(), DIFFERENCE, k)


def check_of(changes):
    def check(self):
        model = self.train(changes)
        self.check_gradients(model, self.check_values(model))
    return check


for name, changes in MODELS.items():
    setattr(OfEachKind, "test_" + name.replace(" ", "_").replace(",", ""), check_of(changes))


class Use(harness.Case):
    def test_as_a_module_and_refusals(self):
        torch.set_num_threads(1)
        self.config({"cycle.steps": "3, 2"})
        self.succeed("generate", "--config", "small.cfg")
        self.succeed("train", "--config", "small.cfg")
        model = voxcycle.Model(self.scratch / "run/checkpoint.h5")
        self.assertIn("multigrid", repr(model))
        self.assertEqual(model.boundary, "1, 0, flux, flux, flux, flux")
        self.assertEqual(model.source, "0")
        nu = torch.ones(8, 8, 8)
        for same in (copy.deepcopy(model), torch.nn.Sequential(model).eval(),
                     voxcycle.Model(self.scratch / "run/best.h5")):
            self.assertTrue(torch.equal(same(nu), model(nu)))
        rough = torch.exp(torch.randn(8, 8, 8))
        models = [voxcycle.Model(self.scratch / "run", precision=p) for p in ("bf16", "f32")]
        self.assertGreater((models[0](rough) - models[1](rough)).abs().max(), 0)
        self.assertFalse(model(nu).requires_grad)
        zero, nan = nu.clone(), nu.clone()
        zero[1, 2, 3], nan[1, 2, 3] = 0, math.nan
        cases = [(lambda: model(nu[0]), r"Pass \[nx, ny, nz\]"),
                 (lambda: model(nu[None]), r"Pass \[nx, ny, nz\]"),
                 (lambda: model(zero), "not positive and finite"),
                 (lambda: model(nan), "not positive and finite"),
                 (lambda: model(nu.numpy()), "torch.from_numpy"),
                 (lambda: model(nu.long()), "floating point"),
                 (lambda: model(nu, nu), r"Call model\(nu\)"),
                 (lambda: model(torch.ones(5, 5, 5)), "no level for grid 5"),
                 (lambda: model(nu.to("meta")), "on meta"),
                 (lambda: voxcycle.Model(self.scratch / "no.h5"), "does not exist"),
                 (lambda: voxcycle.Model(self.scratch / "small.cfg"), "cannot open as HDF5"),
                 (lambda: voxcycle.Model(self.scratch / "run", precision="f64"), "f32, bf16"),
                 (lambda: voxcycle.Model(self.scratch / "run", precision="half"), "half")]
        for call, expect in cases:
            with self.subTest(expect):
                with self.assertRaisesRegex(voxcycle.Error, expect) as caught:
                    call()
                self.assertRegex(str(caught.exception), r"\.$", "an error is a sentence")


if __name__ == "__main__":
    harness.main()
