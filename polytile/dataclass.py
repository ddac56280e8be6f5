"""Dataclasses whose methods are shared: a compiler has hundreds, and each command imports most of them.

The standard library compiles six methods for each frozen class, two thirds of a millisecond. Here `__init__` alone is
compiled, once it is asked for, as a command makes instances of few of its classes; the others are closures over the
names of the fields. What classes do is the same.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Callable, Iterable, Sequence
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, init=True, repr=True, eq=True, order=False):
        """`dataclasses.dataclass`, but without InitVar."""

        def made(cls):
            return _made(cls, frozen=frozen, slots=slots, init=init, repr=repr, eq=eq, order=order)

        return made if cls is None else made(cls)


_ORDERS = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
_UNSET: Any = object()  # the argument for a field whose default is made anew


def _made(cls: Any, *, frozen: bool, slots: bool, init: bool, repr: bool, eq: bool, order: bool) -> Any:
    cls.__doc__ = cls.__doc__ or cls.__name__  # dataclasses would look for a signature
    cls = dataclasses.dataclass(slots=slots, init=False, repr=False, eq=False)(cls)
    cls.__dataclass_params__.init = init
    fields = dataclasses.fields(cls)
    compared = _values(f.name for f in fields if f.compare)
    methods: dict[str, Any] = {}
    if init:
        methods["__init__"] = _Init(cls, fields, frozen)
    if repr:
        methods["__repr__"] = _repr
    if eq:
        hashed = _values(f.name for f in fields if (f.compare if f.hash is None else f.hash))
        methods["__hash__"] = _hash(hashed) if frozen else None
        methods["__eq__"] = _comparison(operator.eq, compared)
    if order:
        methods |= {name: _comparison(operation, compared) for name, operation in _ORDERS.items()}
    if frozen:
        methods |= _FROZEN
    for name, method in methods.items():
        if vars(cls).get(name) is None:  # as `__hash__` is beside an own `__eq__`
            setattr(cls, name, method)
    return cls


class _Init:
    """`__init__`, which gives way to the compiled one when a class is called for the first time, or looked at."""

    __slots__ = ("made",)

    def __init__(self, *made: Any) -> None:
        self.made = made  # the arguments of _init

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        cls = self.made[0]
        if vars(cls)["__init__"] is self:
            cls.__init__ = _init(*self.made)
        return vars(cls)["__init__"].__get__(instance, cls)


def _init(cls: Any, fields: Sequence[dataclasses.Field[Any]], frozen: bool) -> Any:
    """The one method that is compiled.

    before: x: int; y: list[int] = field(default_factory=list)
    after:  def __init__(self, x, y=__unset): self.x = x; self.y = __new_y() if y is __unset else y
    """
    scope: dict[str, Any] = {"__unset": _UNSET, "__set": object.__setattr__}
    body: list[str] = []
    head, named = ["self"], ["*"]
    for f in fields:
        default, value = _default(f, scope)
        if f.init:
            (named if f.kw_only else head).append(f"{f.name}={default}" if default else f.name)
        if f.init or default:
            body.append(_assignment(cls, f.name, value, scope) if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*head, *named] if len(named) > 1 else head)
    exec("\n ".join((f"def __init__({parameters}):", *(body or ["pass"]))), scope)
    method = scope["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": "None"}
    return method


def _assignment(cls: Any, name: str, value: str, scope: dict[str, Any]) -> str:
    """To an attribute of a class that refuses assignments: a slot can be set behind its back."""
    slot = getattr(cls, name, None)
    if not isinstance(slot, MemberDescriptorType):
        return f"__set(self, {name!r}, {value})"
    scope[f"__set_{name}"] = slot.__set__
    return f"__set_{name}(self, {value})"


def _default(f: dataclasses.Field[Any], scope: dict[str, Any]) -> tuple[str, str]:
    """The default argument, if there is one, and the value of a field."""
    if f.default is not dataclasses.MISSING:
        scope[f"__default_{f.name}"] = f.default
        return f"__default_{f.name}", f.name if f.init else f"__default_{f.name}"
    if f.default_factory is not dataclasses.MISSING:
        scope[f"__new_{f.name}"] = f.default_factory
        return "__unset", f"__new_{f.name}() if {f.name} is __unset else {f.name}" if f.init else f"__new_{f.name}()"
    return "", f.name


def _values(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of these attributes."""
    found = tuple(names)
    if not found:
        return lambda instance: ()
    value = operator.attrgetter(*found)
    return value if len(found) > 1 else lambda instance: (value(instance),)


def _comparison(operation: Callable[[Any, Any], Any], values: Callable[[Any], Any]) -> Any:
    def compare(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return operation(values(self), values(other))

    return compare


def _hash(values: Callable[[Any], Any]) -> Any:
    return lambda self: hash(values(self))


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _refuse_assignment(_: Any, name: str, value: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_FROZEN = {
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _state,  # of fields alone, not of what is found from them
    "__setstate__": _set_state,
}
