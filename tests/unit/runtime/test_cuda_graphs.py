"""Equal runs through CuPy become graphs from the third on, others do not; a module plays CuPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polytile.ir.expr import INT, Binary, For, Literal, Name
from polytile.ir.gpu_ops import AwaitLaunches
from polytile.ir.host import FEWEST_LAUNCHES, REMEMBERED_RUNS, HostProgram
from polytile.options import Options
from polytile.runtime import cuda_graphs, cupy_engine, programmatic_dependent_launch
from polytile.runtime.cuda_graphs import Replays
from polytile.runtime.cupy_engine import CupyEngine
from polytile.runtime.host_interpreter import execute
from polytile.runtime.layout import layouts

VALUES = {"n": 3, "m": 4}


class Gpu:
    """Streams and graphs: what is launched while a stream captures runs when its graph does."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.record: list[Any] | None = None
        self.captures = self.replays = 0

    def launch(self, what: Any) -> None:
        (self.ran if self.record is None else self.record).append(what)

    def stream(self, *, non_blocking: bool) -> Any:
        assert non_blocking  # so that the stream waits for nothing
        return Stream(self)


class Failure(Exception):
    pass


class Stream:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.gpu.record is None

    def begin_capture(self) -> None:
        self.gpu.record = []
        self.gpu.captures += 1

    def end_capture(self) -> Any:
        recorded, self.gpu.record = self.gpu.record or [], None
        return SimpleNamespace(launch=lambda: self.replay(recorded))

    def replay(self, recorded: list[Any]) -> None:
        self.gpu.replays += 1
        self.gpu.ran += recorded


@pytest.fixture
def gpu() -> Gpu:
    return Gpu()


@pytest.fixture
def cupy(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Any:
    failing = SimpleNamespace(
        CUDARuntimeError=Failure, CUDADriverError=Failure, OutOfMemoryError=Failure, getDevice=lambda: 0,
        streamSynchronize=lambda _: None,
    )
    cuda = SimpleNamespace(
        runtime=failing,
        driver=failing,
        memory=failing,
        compiler=SimpleNamespace(CompileException=Failure),
        Device=lambda: SimpleNamespace(synchronize=lambda: None, id=0),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        Stream=gpu.stream,
    )
    module = SimpleNamespace(ndarray=Resident, cuda=cuda)
    monkeypatch.setattr(cupy_engine, "_import_cupy", lambda: (module, ""))
    return module


class Resident:
    """An array at some address of the device."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape, self.data = np.dtype(np.float64), shape, SimpleNamespace(ptr=address)


def repeated(program: HostProgram, times: int) -> HostProgram:
    """The sample with its launch in a loop of the host."""
    (launch,) = program.body
    loop = For("t", Literal("0"), Binary("<", Name("t"), Literal(str(times)), INT), 1, (launch,))
    return replace(program, body=(loop,), graphs=True)


def runner(sample: Any, gpu: Gpu, times: int, **changes: Any) -> Callable[..., list[Any]]:
    """Runs the sample, on memory at an address and with a scalar, and gives the arguments of all that ran."""
    program = replace(repeated(sample.program, times), **changes)

    def kernel(grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        gpu.launch(tuple(map(float, arguments)))

    engine = CupyEngine(program, {"update_kernel0": kernel})

    def run(address: int = 4096, scalar: float = 2.0) -> list[Any]:
        gpu.ran.clear()
        memory = {"y": Resident(address, (3, 4)), "x": Resident(0, (4,)), "a": np.array(scalar)}
        engine.run(layouts(sample.scop, VALUES), VALUES, memory)
        return list(gpu.ran)

    return run


def test_the_third_equal_run_records_and_the_fourth_replays(sample: Any, cupy: Any, gpu: Gpu) -> None:
    run = runner(sample, gpu, 20)
    first = run()
    assert len(first) == 20 and run() == first and (gpu.captures, gpu.replays) == (0, 0)
    assert run() == first and (gpu.captures, gpu.replays) == (1, 1)
    assert run() == run() == first and (gpu.captures, gpu.replays) == (1, 3)


def test_other_memory_or_values_are_launched_anew(sample: Any, cupy: Any, gpu: Gpu) -> None:
    run = runner(sample, gpu, 20)
    run(), run(), run()
    assert [a[3] for a in run(address=8192)] == [8192.0] * 20
    assert [a[2] for a in run(address=8192, scalar=3.0)] == [3.0] * 20
    assert (gpu.captures, gpu.replays) == (1, 1)
    run(address=8192, scalar=3.0), run(address=8192, scalar=3.0)
    assert (gpu.captures, gpu.replays) == (2, 2)


def test_runs_that_take_turns_with_buffers_are_graphs(sample: Any, cupy: Any, gpu: Gpu) -> None:
    run = runner(sample, gpu, 20)
    for _ in range(4):
        for address in range(4096, 4096 * (REMEMBERED_RUNS + 1), 4096):
            assert [a[3] for a in run(address=address)] == [address] * 20
    assert (gpu.captures, gpu.replays) == (REMEMBERED_RUNS, 2 * REMEMBERED_RUNS)
    for _ in range(4):
        for address in range(4096, 4096 * (REMEMBERED_RUNS + 2), 4096):
            run(address=address)
    assert gpu.captures == REMEMBERED_RUNS


def test_what_cuda_does_not_record_is_launched(sample: Any, cupy: Any, gpu: Gpu) -> None:
    cupy.cuda.runtime.CUDARuntimeError = ZeroDivisionError
    replays = Replays()

    def launch() -> None:
        if gpu.record is not None:
            raise ZeroDivisionError
        gpu.launch("k")

    for _ in range(5):
        replays.run(cupy, 1, lambda use: [use(launch) for _ in range(9)] and None, graphs=True)
    assert gpu.ran == ["k"] * 45 and (gpu.captures, gpu.replays) == (1, 0)


def test_a_few_launches_are_not_worth_a_graph(sample: Any, cupy: Any, gpu: Gpu) -> None:
    few, enough = runner(sample, gpu, FEWEST_LAUNCHES - 1), runner(sample, gpu, FEWEST_LAUNCHES)
    few(), few(), few(), few()
    assert gpu.captures == 0
    enough(), enough(), enough()
    assert gpu.captures == 1


def test_graphs_are_made_when_asked_for(sample: Any, cupy: Any, gpu: Gpu) -> None:
    run = runner(sample, gpu, 20, graphs=False)
    run(), run(), run(), run()
    assert gpu.captures == 0 and len(gpu.ran) == 20


@pytest.mark.parametrize("graphs", [False, True])
def test_an_equal_run_repeats_the_launches_of_the_one_before(
    sample: Any, cupy: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch, graphs: bool
) -> None:
    """Without going through the host program, unless there are more launches than are kept."""
    walks: list[int] = []

    def counted(*what: Any) -> None:
        walks.append(1)
        execute(*what)

    monkeypatch.setattr(cupy_engine, "execute", counted)
    run = runner(sample, gpu, 20, graphs=graphs)
    first = run()
    assert run() == run() == first and len(walks) == 1
    assert [a[3] for a in run(address=8192)] == [8192.0] * 20 and len(walks) == 2
    assert run() == first and len(walks) == 2
    monkeypatch.setattr(cuda_graphs, "MOST_LAUNCHES", 19)
    many = runner(sample, gpu, 20, graphs=graphs)
    assert many() == many() == many() == first and len(walks) == 5 and gpu.captures == graphs


def test_a_launch_that_fails_ends_the_capture(cupy: Any, gpu: Gpu) -> None:
    replays, failing = Replays(), False

    def launch() -> None:
        if failing:
            raise RuntimeError("no")
        gpu.launch("k")

    def nine(use: Callable[[Callable[[], None]], None]) -> None:
        for _ in range(9):
            use(launch)

    replays.run(cupy, 1, nine, graphs=True)
    replays.run(cupy, 1, nine, graphs=True)
    failing = True
    with pytest.raises(RuntimeError):
        replays.run(cupy, 1, nine, graphs=True)
    failing = False
    assert gpu.record is None
    for _ in range(3):
        replays.run(cupy, 1, nine, graphs=True)
    assert gpu.replays == 1


def test_recorded_launches_of_kernels_that_wait_may_be_early(
    sample: Any, cupy: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the first of a run, which comes behind the run before; on devices that know such launches."""

    def early(_: Any, function: int, *what: Any) -> Callable[[], None]:
        return lambda: gpu.launch(("early", function, what[1]))

    monkeypatch.setattr(cupy_engine, "programmatic_launch", early)
    (kernel,) = sample.program.kernels
    waiting = replace(kernel, body=(AwaitLaunches(), *kernel.body))

    class Function:
        kernel = SimpleNamespace(ptr=77)

        def __call__(self, *_: Any, **__: Any) -> None:
            gpu.launch("plain")

    for kernels, is_able, expected in (
        ((waiting,), True, ["plain", *[("early", 77, kernel.block)] * 8]),
        ((waiting,), False, ["plain"] * 9),
        ((kernel,), True, ["plain"] * 9),
    ):
        gpu.ran.clear()
        program = replace(repeated(sample.program, 9), kernels=kernels)
        engine = CupyEngine(program, {kernel.name: Function()}, is_able)
        memory = {"y": Resident(64, (3, 4)), "x": Resident(0, (4,)), "a": np.array(1.0)}
        for launch in engine.bind(layouts(sample.scop, VALUES), VALUES, memory, {}).record():
            launch()
        assert gpu.ran == expected


@pytest.mark.parametrize(("ptx", "early"), [(90, True), (86, False)])
def test_code_for_an_older_device_waits_for_nothing_and_is_launched_plainly(
    sample: Any, cupy: Any, monkeypatch: pytest.MonkeyPatch, ptx: int, early: bool
) -> None:
    """An NVRTC that does not know the device compiles for one that it knows, without the wait."""
    monkeypatch.setattr(cupy_engine, "available", lambda _: True)
    cupy.RawModule = lambda **_: SimpleNamespace(get_function=lambda _: SimpleNamespace(ptx_version=ptx))
    (kernel,) = sample.program.kernels
    program = replace(sample.program, kernels=(replace(kernel, body=(AwaitLaunches(), *kernel.body)),))
    assert cupy_engine.cupy_engine(program, Options()).launches_early is early


def test_strict_kernels_are_compiled_without_flushing_subnormal_numbers(
    sample: Any, cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CuPy adds -ftz=true to what RawModule compiles, not to what it loads."""
    monkeypatch.setattr(cupy_engine, "available", lambda _: False)
    seen: dict[str, Any] = {}

    def compiled(code: str, **settings: Any) -> tuple[bytes, None]:
        seen.update(settings, code=code)
        return b"binary", None

    def loaded(path: str) -> Any:
        seen["binary"] = Path(path).read_bytes()
        return SimpleNamespace(get_function=lambda name: SimpleNamespace(ptx_version=90, name=name))

    cupy.cuda.compiler.compile_using_nvrtc = compiled
    cupy.RawModule = loaded
    engine = cupy_engine.cupy_engine(sample.program, Options(strict=True))
    assert set(engine.functions) == {k.name for k in sample.program.kernels}
    assert seen["binary"] == b"binary" and "__global__" in seen["code"]
    assert seen["options"] == ("-std=c++17", "--fmad=false")


def test_an_early_launch_goes_to_the_stream_of_its_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that repeat the launches of a run share them: another one may launch before the driver looks."""
    current, between, streams = 11, True, []

    def driver(config: Any, *_: Any) -> int:
        nonlocal current, between
        if between:
            current, between = 22, False
            launch()
        streams.append(config._obj.stream)
        return 0

    monkeypatch.setattr(programmatic_dependent_launch, "driver_launch", lambda: driver)
    stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=current))
    launch = programmatic_dependent_launch.programmatic_launch(
        SimpleNamespace(cuda=stream), 1, (1, 1, 1), (32, 1, 1), 0, ()
    )
    launch()
    assert streams == [22, 11]
