// SPDX-License-Identifier: BSD-3-Clause
// TorchScript around a network: the same text for all of them.
#pragma once

namespace voxcycle::export_script {

/// What a network knows of the equation on the grid of x, its input there [n, 1 or 2, nx, ny, nz],
/// in float32 for cubic voxels and a longest edge of 1, measured from the boundary's datum.
///
/// lift and mask: as in poisson/boundary.hpp, [1, 1, nx+1, ny+1, nz+1]. The attribute `faces` lists
/// the Dirichlet faces as (axis, side, value), the last of which wins on shared edges.
///
/// size: of solutions, see solution_size.
///
/// smooth: Chebyshev-Jacobi `steps` (keep, take; poisson/chebyshev_steps.hpp) on K(nu) u = b over
/// the free nodes, u [n, 1, nx+1, ny+1, nz+1]. stiffness: K u, with K given by nu [n, 1, nx, ny,
/// nz] or by entries (see export_script::nested). K of a voxel is diagonal in the Haar basis (see
/// poisson/energy.hpp): a convolution with `haar` [8, 1, 2, 2, 2], a product with h nu `spectrum`
/// [1, 8, 1, 1, 1] and the transposed convolution. `top` is the largest eigenvalue of D^-1 K of a
/// voxel. All is divided by h.
constexpr char const* frame = R"(
def shape(self, x: Tensor) -> List[int]:
    return [1, 1, x.size(2) + 1, x.size(3) + 1, x.size(4) + 1]

def mask(self, x: Tensor) -> Tensor:
    mask = torch.ones(self.shape(x), device=x.device)
    for axis, side, value in self.faces:
        mask.select(2 + axis, -side).zero_()
    return mask

def lift(self, x: Tensor) -> Tensor:
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
    if matrix.size(1) > 1:
        return self.product(matrix, u)
    stress = torch.conv3d(u, self.haar, None, [1, 1, 1]) * self.spectrum * matrix
    return torch.conv_transpose3d(stress, self.haar, None, [1, 1, 1])

def steps_on(self, matrix: Tensor, weights: Tensor, b: Tensor, u: Tensor) -> Tensor:
    change = torch.zeros_like(u)
    for keep, take in self.steps:
        change = keep * change + take * (weights * (b - self.stiffness(matrix, u)))
        u = u + change
    return u

def smooth(self, u: Tensor, x: Tensor) -> Tensor:
    return self.steps_on(torch.exp(x[:, 0:1]), self.jacobi(x), self.load(x), u)
)";

/// What both models below share: the checks of their inputs, and u of what the network makes, which
/// is measured from the datum (see datum_of); float64 where there is one.
constexpr char const* checks = R"(
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
    u = self.network.forward(x)
    if self.datum == 0.:
        return u
    u = u.double() + self.datum
    for axis, side, value in self.faces:
        u.select(2 + axis, -side).fill_(value)
    return u
)";

constexpr char const* of_nu = R"(
def forward(self, nu: Tensor) -> Tensor:
    return self.u_of(self.log_of(nu))
)";

constexpr char const* of_nu_and_f = R"(
def forward(self, nu: Tensor, f: Tensor) -> Tensor:
    log_nu = self.log_of(nu)
    self.require_field(f, "f")
    assert f.shape == nu.shape, "f has shape {}, nu {}: they must be equal.".format(
        f.shape, nu.shape)
    return self.u_of(torch.cat([log_nu, f.float() / self.source_rms], 1))
)";

}  // namespace voxcycle::export_script
