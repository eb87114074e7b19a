"""Functions of PyTorch agree with the kernels, and so do their derivatives."""

import pytest

from array_functions import EVERY, ROUND_OFF, by_complex_step, listed, states

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_torch_has_values_derivatives_and_second_derivatives(arm):
    inverse = arm.as_torch("inverse")
    motion = states(arm.kernel("inverse"), 3)
    tensors = [torch.tensor(x, requires_grad=True) for x in motion]
    tau = inverse(*tensors)
    assert tau.detach().numpy() == pytest.approx(arm.inverse(*motion), abs=ROUND_OFF)
    assert torch.autograd.gradcheck(inverse, tensors, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(inverse, tensors)
    single = [torch.tensor(x[0]) for x in motion]
    for k, exact in enumerate(by_complex_step(arm, *(x[0] for x in motion))):
        for way in (torch.func.jacrev, torch.func.jacfwd):
            assert way(inverse, k)(*single).numpy() == pytest.approx(exact, abs=ROUND_OFF)
    mapped = torch.func.vmap(inverse, (0, None, None))(torch.tensor(motion[0]), *single[1:])
    expected = arm.inverse(motion[0], motion[1][0], motion[2][0])
    assert mapped.numpy() == pytest.approx(expected, abs=ROUND_OFF)


@pytest.mark.parametrize("name, variant", EVERY)
@pytest.mark.thorough
def test_every_kernel_is_a_function_of_torch(arm, name, variant):
    kernel, function = arm.kernel(name, variant), arm.as_torch(name, variant)
    arguments = states(kernel, 3)
    tensors = [torch.tensor(x, requires_grad=True) for x in arguments]
    for one, other in zip(listed(function(*tensors)), listed(kernel(*arguments)), strict=True):
        assert one.detach().numpy() == pytest.approx(other, abs=ROUND_OFF)
    assert torch.autograd.gradcheck(lambda *x: tuple(listed(function(*x))), tensors)


def test_torch_compiles_a_function_and_its_gradient_without_a_break(arm):
    inverse, energy = arm.as_torch("inverse"), arm.as_torch("energy")

    def loss(q, qd, qdd):
        return inverse(q, qd, qdd=qdd).square().sum() + energy(q, qd).T.sum()

    def gradient(function, *motion):
        given = [torch.as_tensor(x).requires_grad_() for x in motion]
        return torch.autograd.grad(function(*given), given)

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    motion = states(arm.kernel("inverse"), 3)
    for found, wanted in zip(gradient(compiled, *motion), gradient(loss, *motion), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=ROUND_OFF)
    one = [torch.as_tensor(x) for x in motion]
    mapped = torch.compile(torch.func.vmap(inverse), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(mapped(*one), inverse(*one), rtol=0, atol=ROUND_OFF)


@pytest.mark.parametrize("strict", [False, True])
def test_torch_exports_the_equations_which_need_no_kernel(arm, strict):
    inverse = arm.as_torch("inverse")

    class Model(torch.nn.Module):
        def forward(self, q, qd, qdd):
            return inverse(q, qd, qdd)

    motion = [torch.as_tensor(x) for x in states(arm.kernel("inverse"), 3)]
    exported = torch.export.export(Model(), tuple(motion), strict=strict)
    assert "robot_dynamics" not in {
        str(node.target).partition(".")[0] for node in exported.graph.nodes
    }
    found = exported.module()(*motion)
    torch.testing.assert_close(found, inverse(*motion), rtol=0, atol=ROUND_OFF)
