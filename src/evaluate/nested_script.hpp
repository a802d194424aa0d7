// SPDX-License-Identifier: BSD-3-Clause
// TorchScript of poisson/nested_equation.hpp, in methods of the module of export_script::frame.
#pragma once

namespace voxcycle::export_script {

/// nest(x, levels): what the levels of a pass need, the finest first, a list of tensors each:
///
///     0  weights of the interpolation from the next coarser grid [n, 27, its nodes]
///     1  u on the coarsest grid; of the finest and those between, nothing
///     2  entries of the matrix [n, 27, nodes]; of the finest, nu [n, 1, voxels] (see stiffness)
///     3  Jacobi weights, 4 the load
///
/// Offsets are numbered by 9 (dx + 1) + 3 (dy + 1) + dz + 1: 13 is the node itself. Set up in
/// float64 as poisson/multigrid/black_box.cpp does it (Dendy 1982, 1983), with weights and entries
/// rounded to float32; `top_of` is Lanczos' iteration as in poisson/multigrid/lanczos.hpp and
/// stencil_operator.cpp, from the same start (core/random.hpp).
constexpr char const* nested = R"(
def offset(self, t: int) -> List[int]:
    return [t // 9 - 1, t // 3 % 3 - 1, t % 3 - 1]

def number(self, o: List[int]) -> int:
    return 9 * (o[0] + 1) + 3 * (o[1] + 1) + o[2] + 1

def points(self, x: Tensor) -> List[int]:
    return [x.size(2), x.size(3), x.size(4)]

def window(self, x: Tensor, first: List[int], size: List[int], step: int) -> Tensor:
    for a in range(3):
        x = torch.slice(x, 2 + a, first[a], first[a] + step * (size[a] - 1) + 1, step)
    return x

def padded(self, x: Tensor) -> Tensor:
    return torch.constant_pad_nd(x, [1, 1, 1, 1, 1, 1], 0.)

def shifted(self, padded: Tensor, t: int, size: List[int], step: int) -> Tensor:
    o = self.offset(t)
    return self.window(padded, [1 + o[0], 1 + o[1], 1 + o[2]], size, step)

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
    weights = entries.new_zeros([entries.size(0), 27, n[0] // 2 + 1, n[1] // 2 + 1, n[2] // 2 + 1])
    weights.select(1, 13).fill_(1.)
    for count in range(1, 4):
        for k in range(1, 8):
            odd = [k // 4, k // 2 % 2, k % 2]
            if odd[0] + odd[1] + odd[2] == count:
                self.weights_to(entries, weights, odd)
    return weights.float().double()

def coarse_entries(self, fine: Tensor, weights: Tensor) -> Tensor:
    n = self.points(weights)
    around = self.padded(fine)
    entries = torch.zeros_like(weights)
    for s in range(14, 27):
        step = self.offset(s)
        size = [n[0] - abs(step[0]), n[1] - abs(step[1]), n[2] - abs(step[2])]
        here = [max(-step[0], 0), max(-step[1], 0), max(-step[2], 0)]
        there = [max(step[0], 0), max(step[1], 0), max(step[2], 0)]
        total = torch.zeros_like(self.window(weights.narrow(1, 0, 1), here, size, 1))
        for i in range(27):
            f = self.offset(i)
            p = self.window(weights.narrow(1, i, 1), here, size, 1)
            first = [2 * here[0] + 1 + f[0], 2 * here[1] + 1 + f[1], 2 * here[2] + 1 + f[2]]
            at = self.window(around, first, size, 2)
            for t in range(27):
                o = self.offset(t)
                g = [f[0] + o[0] - 2 * step[0], f[1] + o[1] - 2 * step[1],
                     f[2] + o[2] - 2 * step[2]]
                if max(max(abs(g[0]), abs(g[1])), abs(g[2])) <= 1:
                    q = self.window(weights.narrow(1, self.number(g), 1), there, size, 1)
                    total = total + p * at.narrow(1, t, 1) * q
        total = total.float().double()
        self.window(entries.narrow(1, s, 1), here, size, 1).add_(total)
        self.window(entries.narrow(1, 26 - s, 1), there, size, 1).add_(total)
    entries.select(1, 13).sub_(entries.sum(1))
    return entries

def product(self, entries: Tensor, u: Tensor) -> Tensor:
    around = self.padded(u)
    total = torch.zeros_like(u)
    for t in range(27):
        if t != 13:
            flow = self.shifted(around, t, self.points(u), 1) - u
            total = total + entries.narrow(1, t, 1) * flow
    return total

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

def random_start(self, like: Tensor) -> Tensor:
    weyl = -7046029254386353131
    state = torch.bitwise_xor(torch.arange(like[0].numel(), device=like.device), weyl) + weyl
    state = torch.bitwise_xor(state, (state >> 30) & 17179869183) * -4658895280553007687
    state = torch.bitwise_xor(state, (state >> 27) & 137438953471) * -7723592293110705685
    state = torch.bitwise_xor(state, (state >> 31) & 8589934591)
    uniform = ((state >> 11) & 9007199254740991).double() / 9007199254740992.
    return (uniform - 0.5).view(like[0:1].size()).expand(like.size())

def dots(self, a: Tensor, b: Tensor) -> Tensor:
    return (a * b).flatten(1).sum(1)

def share(self, part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, torch.zeros_like(whole))

def top_of(self, entries: Tensor) -> Tensor:
    steps = 12
    field = [entries.size(0), 1, 1, 1, 1]
    scale = entries.narrow(1, 13, 1).rsqrt()
    y = self.random_start(scale)
    other = torch.zeros_like(y)
    norm = self.dots(y, y)
    before = torch.zeros_like(norm)
    t = torch.zeros([norm.size(0), steps, steps], device=norm.device).double()
    for j in range(steps):
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

def nest(self, x: Tensor, levels: int) -> List[List[Tensor]]:
    nested: List[List[Tensor]] = []
    nothing = torch.zeros([0], device=x.device)
    load = self.load(x).double()
    nu = torch.exp(x[:, 0:1])
    entries = self.entries_of_voxels(nu)
    for level in range(levels):
        weights = nothing
        solution = nothing
        if level + 1 < levels:
            weights = self.weights_of(entries)
        else:
            solution = self.direct(entries, load, x).float()
        if level == 0:
            nested.append([weights.float(), solution, nu, self.jacobi(x), load.float()])
        else:
            jacobi = self.mask(x) / (self.top_of(entries) * entries.narrow(1, 13, 1)).float()
            nested.append([weights.float(), solution, entries.float(), jacobi, load.float()])
        if level + 1 < levels:
            entries = self.coarse_entries(entries, weights)
            load = self.restricted(weights, load).float().double()
            x = torch.avg_pool3d(x, [2, 2, 2])
    return nested

def raised(self, level: List[Tensor], u: Tensor, x: Tensor) -> Tensor:
    return torch.where(self.mask(x) > 0, self.interpolated(level[0], u), self.lift(x))

def smooth_nested(self, level: List[Tensor], u: Tensor) -> Tensor:
    return self.steps_on(level[2], level[3], level[4], u)

def corrected(self, level: List[Tensor], u: Tensor, directions: Tensor, x: Tensor) -> Tensor:
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
)";

}  // namespace voxcycle::export_script
