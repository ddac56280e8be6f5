"""Dataclasses do what those of the standard library do, and all that a compilation imports has them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from polytile.dataclass import dataclass

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("frontend", "scheduling", "codegen", "polytile")
THE_LIBRARYS = re.compile(r"^ *(from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass)", re.MULTILINE)
MADE = {"ours": dataclass, "the library's": dataclasses.dataclass}


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: float = 1.0
    names: list[str] = field(default_factory=list)
    place: str = field(default="", compare=False)
    seen: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    exact: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("negative")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int = 0


def classes(decorator: Any) -> tuple[Any, Any, Any, Any]:
    """The same classes, made by one decorator or the other."""

    @decorator(frozen=True, slots=True)
    class Base:
        x: int
        y: object = field(default=2, compare=False)

    @decorator(frozen=True, slots=True)
    class Derived(Base):
        z: tuple[int, ...] = ()

        def __hash__(self) -> int:
            return 7

    @decorator(slots=True)
    class Mutable:
        items: list[int] = field(default_factory=list)
        count: int = field(default=3, init=False)

    @decorator(frozen=True)
    class Empty:
        known: ClassVar[list[str]] = ["a"]

    return Base, Derived, Mutable, Empty


@pytest.mark.parametrize("decorator", MADE.values(), ids=MADE)
def test_classes_behave_alike(decorator: Any) -> None:
    base, derived, mutable, empty = classes(decorator)
    assert base(1, 2) == base(1, 3) != base(2, 2) and hash(base(1, 2)) == hash(base(1, 3))
    assert base(float("nan")) != base(float("nan")) and base(nan := float("nan")) == base(nan)
    assert base(1) != derived(1) and hash(derived(1)) == 7 and not hasattr(derived(1), "__dict__")
    assert repr(derived(1, z=(2,))).endswith("Derived(x=1, y=2, z=(2,))")
    assert dataclasses.replace(derived(1), z=(4,)) == derived(1, z=(4,))
    assert mutable().items is not mutable().items and mutable([1]) == mutable([1]) and mutable().count == 3
    assert mutable.__hash__ is None and empty() == empty() and hash(empty()) == hash(empty())
    assert dataclasses.fields(empty) == () and empty.known == ["a"] and empty().known is empty.known
    assert (derived.__module__, derived.__qualname__) == (__name__, "classes.<locals>.Derived")
    assert [f.name for f in dataclasses.fields(derived(1))] == ["x", "y", "z"] == list(dataclasses.asdict(derived(1)))
    assert list(inspect.signature(derived).parameters) == ["x", "y", "z"] == list(derived.__match_args__)
    with pytest.raises(FrozenInstanceError):
        derived(1).x = 2
    with pytest.raises(FrozenInstanceError):
        del derived(1).x
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        base()


def test_fields_have_their_defaults() -> None:
    point = Point(1)
    assert (point.y, point.names, point.place, point.seen, point.exact) == (1.0, [], "", {}, True)
    assert point == Point(1, place="here") != Point(1, exact=False)
    assert dataclasses.asdict(Point(2, names=["a"]))["names"] == ["a"]
    with pytest.raises(ValueError, match="negative"):
        Point(-1)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_values_are_copied(again: Any) -> None:
    assert again(Point(1, names=["a"], place="here")) == Point(1, names=["a"])
    assert again(Point(1, place="here")).place == "here"


def test_methods_made_for_a_base_are_not_those_of_a_derived_class() -> None:
    _, _, mutable, _ = classes(dataclass)

    @dataclass(slots=True)
    class Longer(mutable):  # type: ignore[misc, valid-type]
        more: int = 0

        def __init__(self, more: int) -> None:
            mutable.__init__(self, [1])
            self.more = more

    assert repr(Longer(2)).endswith("Longer(items=[1], count=3, more=2)") and repr(mutable()).endswith("=[], count=3)")
    assert Longer(2) == Longer(2) != Longer(3) and mutable.__eq__ is not Longer.__eq__


def test_an_argument_without_a_default_comes_first() -> None:
    @dataclass(frozen=True, slots=True)
    class Wrong:
        x: int = 0
        y: str  # type: ignore[misc]

    with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):
        Wrong(1, "a")


def test_code_is_shared_by_classes_with_other_names() -> None:
    @dataclass(frozen=True, slots=True)
    class One:
        first: int
        second: list[str] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Other:
        left: str
        right: dict[str, int] = field(default_factory=dict)

    assert (One(1), Other("a")) == (One(second=[], first=1), Other(right={}, left="a"))
    assert One.__init__.__code__.co_code == Other.__init__.__code__.co_code
    assert list(inspect.signature(Other).parameters) == ["left", "right"]
    with pytest.raises(TypeError, match=r"Other.__init__\(\) missing 1 required positional argument: 'left'"):
        Other()  # type: ignore[call-arg]


def test_a_class_may_be_generic() -> None:
    content = TypeVar("content")

    @dataclass(frozen=True, slots=True)
    class Box(Generic[content]):
        inside: content

    assert Box[int](1) == Box(1) and repr(Box[str]("a")).endswith("Box(inside='a')")


def test_versions_are_ordered() -> None:
    assert sorted([Version(2), Version(1, 5), Version(1)]) == [Version(1), Version(1, 5), Version(2)]
    assert Version(1) <= Version(1) and Version(2) > Version(1, 9)


def test_what_refers_to_itself_is_printed() -> None:
    point = Point(1)
    point.names.append(point)  # type: ignore[arg-type]
    assert repr(point) == "Point(x=1, y=1.0, names=[...], place='', exact=True)"


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_librarys_is_used_nowhere_else(folder: str) -> None:
    linked = {ROOT / "polytile" / name for name in FOLDERS}
    own = (p for p in (ROOT / folder).rglob("*.py") if not linked & set(p.parents) and p.name != "dataclass.py")
    assert [str(p.relative_to(ROOT)) for p in own if THE_LIBRARYS.search(p.read_text())] == []
