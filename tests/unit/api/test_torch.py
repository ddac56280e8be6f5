"""SCoPs as operators of torch, and tensors as arguments."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.runtime.torch_op import schema

SOURCE = """
void smooth(int n, int steps, double A[n], double B[n], const double W[n], double w, int shift)
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = w * (A[i - 1] + A[i] + A[i + 1]) + W[i] + shift;
        for (int i = 1; i < n - 1; i++)
            A[i] = B[i];
    }
#pragma endscop
}
"""
FLAGS = """
void count(int n, const float x[n], unsigned char over[n], int total[1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        over[i] = x[i] > 0.5f;
    for (int i = 0; i < n; i++)
        total[0] += over[i];
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def smooth() -> Any:
    return polytile.compile(SOURCE)["smooth"]


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed (CONTRIBUTING.md says how)")


def test_the_schema_has_tensors_scalars_and_sizes_by_name(smooth: Any) -> None:
    tensors = "Tensor(a0!) A, Tensor(a1!) B, Tensor W, float w, int shift"
    assert schema(smooth.scop) == f"({tensors}, *, SymInt? steps=None, SymInt? n=None) -> ()"


def test_without_torch_it_says_what_to_install(smooth: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(polytile.UsageError, match="needs PyTorch, which is not installed") as error:
        smooth.as_torch_op("mine::smooth")
    assert error.value.hint == "pip install torch"


@pytest.mark.parametrize("name", ["smooth", "a::b::c", "mine::", "mine::a b", 3])
def test_a_name_has_a_namespace(smooth: Any, name: Any) -> None:
    with pytest.raises(polytile.UsageError, match='name must be "namespace::operator"'):
        smooth.as_torch_op(name)


def test_there_is_no_such_place(smooth: Any) -> None:
    with pytest.raises(polytile.UsageError, match="there is no place 'cpu'"):
        smooth.as_torch_op("mine::smooth", on="cpu")


def given(torch: Any, n: int, seed: int = 1) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(n, dtype=torch.float64, generator=generator) for _ in range(3)]


@pytest.fixture(scope="module")
def operator(smooth: Any, torch: Any) -> Any:
    return smooth.as_torch_op("polytile_tests::smooth", on="emulator")


@pytest.mark.parametrize("n", [1, 2, 5, 33, 300])
def test_an_operator_does_what_the_scop_does(smooth: Any, operator: Any, torch: Any, n: int) -> None:
    tensors = given(torch, n)
    arrays = [tensor.numpy().copy() for tensor in tensors]
    smooth(**dict(zip("ABW", arrays, strict=True)), w=0.3, shift=2, steps=3, on="emulator")
    operator(*tensors, 0.3, 2, steps=3)
    assert all(np.array_equal(tensor.numpy(), array) for tensor, array in zip(tensors, arrays, strict=True))
    operator(*given(torch, n), 0.3, 2, steps=3, n=n)
    operator(*given(torch, n), 0.3, 2, steps=0)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_as_a_whole_it_equals_eager(operator: Any, torch: Any, backend: str) -> None:
    def model(a: Any, b: Any, w: Any) -> Any:
        a, b = a * 2, b + 1
        operator(a, b, w, 0.25, 1, steps=2)
        return a.sin() + b

    compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=True)
    for n in (7, 40):
        assert torch.allclose(compiled(*given(torch, n)), model(*given(torch, n)), rtol=1e-14)


def test_opcheck_passes(operator: Any, torch: Any) -> None:
    found = torch.library.opcheck(operator, (*given(torch, 20), 0.25, 1), {"steps": 2})
    assert set(found.values()) == {"SUCCESS"} and len(found) == 4


def test_other_types(torch: Any) -> None:
    operator = polytile.compile(FLAGS)["count"].as_torch_op("polytile_tests::count", on="emulator")
    x = torch.linspace(0, 1, 11, dtype=torch.float32)
    over, total = torch.zeros(11, dtype=torch.uint8), torch.zeros(1, dtype=torch.int32)
    operator(x, over, total)
    assert over.tolist() == (x > 0.5).to(torch.uint8).tolist() and total.item() == 5


def test_fake_tensors_are_checked(operator: Any, torch: Any) -> None:
    with torch.device("meta"):
        meta = [torch.empty(9, dtype=torch.float64) for _ in range(3)]
        operator(*meta, 0.5, 1)
        with pytest.raises(polytile.UsageError, match=r"B holds torch\.float32, but the C element type is double"):
            operator(meta[0], torch.empty(9, dtype=torch.float32), meta[2], 0.5, 1)
        with pytest.raises(polytile.UsageError, match="W has 2 dimensions, but C declares 1"):
            operator(*meta[:2], torch.empty((3, 3), dtype=torch.float64), 0.5, 1)


def test_sizes_that_do_not_follow_are_named(operator: Any, torch: Any) -> None:
    with pytest.raises(polytile.UsageError, match="missing: steps"):
        operator(*given(torch, 9), 0.5, 1)


ALLOCATE = "A is written, and a copy would not reach you: allocate it "
REFUSED = {
    "float32": (lambda t, a: a.float(), "A holds torch.float32, but", ALLOCATE + "with dtype=torch.float64"),
    "bfloat16": (lambda t, a: a.bfloat16(), "A holds torch.bfloat16, but", ALLOCATE + "with dtype=torch.float64"),
    "grad": (
        lambda t, a: a.clone().requires_grad_(),
        "A requires grad, and kernels have no derivatives",
        "pass A.detach(), which shares its memory",
    ),
    "meta": (lambda t, a: a.to("meta"), "A is on the meta device", 'allocate it with device="cpu" or device="cuda"'),
    "strided": (lambda t, a: a[::2], "A is not contiguous", ALLOCATE + "as kernels need it"),
    "sparse": (lambda t, a: a.to_sparse(), "A has the layout torch.sparse_coo", ALLOCATE + "as kernels need it"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tensors_that_kernels_cannot_take(smooth: Any, torch: Any, case: str) -> None:
    make, message, hint = REFUSED[case]
    a, b, w = given(torch, 10)
    with pytest.raises(polytile.UsageError) as error:
        smooth(A=make(torch, a), B=b, W=w, w=0.5, shift=1, steps=1, on="emulator")
    assert message in error.value.message and error.value.hint == hint


def test_what_is_read_alone_may_be_a_copy(smooth: Any, torch: Any) -> None:
    a, b, w = given(torch, 10)
    for wrong, hint in ((w.float(), "use W.to(torch.float64)"), (torch.cat([w, w])[::2], "use W.contiguous()")):
        with pytest.raises(polytile.UsageError) as error:
            smooth(A=a, B=b, W=wrong, w=0.5, shift=1, steps=1, on="emulator")
        assert error.value.hint == hint


def test_what_is_written_has_another_version(operator: Any, torch: Any) -> None:
    """Autograd refuses to go back through what an operator has changed since."""
    a, b, w = given(torch, 12)
    versions = [t._version for t in (a, b, w)]
    operator(a, b, w, 0.5, 1, steps=1)
    assert [t._version - v for t, v in zip((a, b, w), versions, strict=True)] == [1, 1, 0]
    with torch.inference_mode():
        operator(*given(torch, 12), 0.5, 1, steps=1)


def test_a_name_may_be_given_to_another_scop(smooth: Any, torch: Any) -> None:
    count = polytile.compile(FLAGS)["count"]
    first = count.as_torch_op("polytile_tests::again", on="emulator")
    second = smooth.as_torch_op("polytile_tests::again", on="emulator")
    assert "x" in str(first._schema) and "Tensor(a0!) A" in str(second._schema)
    a, b, w = given(torch, 12)
    torch.ops.polytile_tests.again(a, b, w, 0.5, 1, steps=0)
