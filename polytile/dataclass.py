"""Dataclasses whose methods are made when they are asked for: a compiler has hundreds of classes, and each command
imports most of them.

The standard library looks at each field and compiles six methods for each frozen class, two thirds of a millisecond.
Here a class is made anew for its slots, and that is all. Its fields and methods are found with its first instance;
`__init__` alone is compiled, once for all classes with as many arguments. What classes do is the same.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from types import CodeType, FunctionType, MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, init=True, repr=True, eq=True, order=False):
        """Make a data class as `dataclasses.dataclass` does, but without InitVar and KW_ONLY."""

        def made(cls):
            return _made(cls, SimpleNamespace(frozen=frozen, slots=slots, init=init, repr=repr, eq=eq, order=order))

        return made if cls is None else made(cls)


_ORDERS = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}
_UNSET: Any = object()  # the argument for a field whose default is made anew
_OF_INSTANCES: Any = vars(dataclasses)["_FIELD"]  # the kind of a field that is no ClassVar


def _made(cls: Any, asked: SimpleNamespace) -> Any:
    cls.__doc__ = cls.__doc__ or cls.__name__
    own = vars(cls)
    declared = {
        name: own.get(name, dataclasses.MISSING) for name, kind in cls.__annotations__.items() if not _is_of_class(kind)
    }
    methods = _methods(asked.init, asked.repr, asked.eq, asked.order, asked.frozen)
    added = {name: method for name, method in methods.items() if own.get(name) is None}
    added["__dataclass_params__"] = asked
    added["__dataclass_fields__"] = _Later("__dataclass_fields__", partial(_fields, declared))
    if asked.slots:
        return _with_slots(cls, tuple(declared), added)
    for name, value in ({name: _class_value(value) for name, value in declared.items()} | added).items():
        if value is not dataclasses.MISSING:
            setattr(cls, name, value)
        elif name in own:
            delattr(cls, name)
    return cls


def _is_of_class(annotation: Any) -> bool:
    return str(annotation).startswith(("ClassVar", "typing.ClassVar"))


def _class_value(declared: Any) -> Any:
    """Return what a class has in the place of a field."""
    return declared.default if isinstance(declared, dataclasses.Field) else declared


def _with_slots(cls: Any, names: tuple[str, ...], added: dict[str, Any]) -> Any:
    """Make the class anew with slots, which it can only be born with."""
    inherited = {name for base in cls.__mro__[1:] for name in _slots(base)}
    dropped = {*names, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(cls).items() if name not in dropped}
    slots = tuple(name for name in names if name not in inherited)
    return type(cls)(cls.__name__, cls.__bases__, body | added | {"__slots__": slots, "__qualname__": cls.__qualname__})


def _slots(base: type) -> Sequence[str]:
    slots = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


class _Later:
    """An attribute of classes that is found when one is asked for it, and then takes the place of this there."""

    __slots__ = ("find", "name")

    def __init__(self, name: str, find: Callable[[Any], Any]) -> None:
        self.name, self.find = name, find

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        owner = type(instance) if owner is None else owner
        for cls in owner.__mro__:
            if vars(cls).get(self.name) is self:
                found = self.find(cls)
                setattr(cls, self.name, found)
                return found.__get__(instance, owner) if isinstance(found, FunctionType) else found
        return getattr(owner if instance is None else instance, self.name)  # another thread has found it


def _fields(declared: dict[str, Any], cls: Any) -> dict[str, dataclasses.Field[Any]]:
    """Find the fields of a class and of its bases, as `dataclasses.fields` wants them."""
    found: dict[str, dataclasses.Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, value in declared.items():
        made: Any = value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
        made.name, made.type, made._field_type = name, cls.__annotations__[name], _OF_INSTANCES
        made.kw_only = made.kw_only is True  # it is MISSING where nothing was said
        found[name] = made
    return found


@cache
def _methods(init: bool, repr: bool, eq: bool, order: bool, frozen: bool) -> dict[str, Any]:
    """Find what a class gets that has asked for these."""
    methods: dict[str, Any] = {"__match_args__": _Later("__match_args__", _match_args)}
    if init:
        methods["__init__"] = _Later("__init__", _init)
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _Later("__eq__", partial(_comparison, operator.eq))
        methods["__hash__"] = _Later("__hash__", _hash) if frozen else None
    if order:
        methods |= {name: _Later(name, partial(_comparison, operation)) for name, operation in _ORDERS.items()}
    return methods | _FROZEN if frozen else methods


def _match_args(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only)


def _init(cls: Any) -> FunctionType:
    """Make the one method that is compiled, with the names of a class in the place of those in the code.

    before: x: int; y: list[int] = field(default_factory=list)
    code:   def __init__(self, _0, _1): self._0 = _0; self._1 = _1; __then(self)
    after:  def __init__(self, x, y=__unset): self.x = x; self.y = y; __then(self)
    """
    fields = dataclasses.fields(cls)
    plain = [f for f in fields if f.init and not f.kw_only]
    named = [f for f in fields if f.init and f.kw_only]
    given = [*plain, *named]
    style, scope = _assignments(cls, given)
    made = [f for f in fields if f.default_factory is not dataclasses.MISSING or (not f.init and _has_default(f))]
    then = [_completion(made)] if made else []
    then += [operator.methodcaller("__post_init__")] if hasattr(cls, "__post_init__") else []
    if then:
        scope["__then"] = then[0] if len(then) == 1 else _one_after_another(*then)
    code = _compiled(style, len(plain), len(named), bool(then))
    names = tuple(f.name for f in given)
    renamed = code.replace(co_varnames=("self", *names))
    if style is _TO_ATTRIBUTES:
        of_argument = {f"_{i}": name for i, name in enumerate(names)}
        renamed = renamed.replace(co_names=tuple(of_argument.get(name, name) for name in code.co_names))
    method = FunctionType(renamed, scope, "__init__", _defaults(plain))
    method.__kwdefaults__ = {f.name: _argument(f) for f in named if _has_default(f)}
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {f.name: f.type for f in given} | {"return": "None"}
    return method


_TO_ATTRIBUTES = "self._{0} = _{0}"
_TO_SLOTS = "__set_{0}(self, _{0})"  # also behind the back of a class that refuses assignments
_PAST_REFUSAL = "__set(self, __name_{0}, _{0})"


def _assignments(cls: Any, given: Sequence[dataclasses.Field[Any]]) -> tuple[str, dict[str, Any]]:
    """Say how an argument becomes an attribute, and what that needs."""
    found = (getattr(cls, f.name, None) for f in given)
    slots = [slot for slot in found if isinstance(slot, MemberDescriptorType)]
    if len(slots) == len(given):
        return _TO_SLOTS, {f"__set_{i}": slot.__set__ for i, slot in enumerate(slots)}
    if not cls.__dataclass_params__.frozen:
        return _TO_ATTRIBUTES, {}
    return _PAST_REFUSAL, {"__set": object.__setattr__} | {f"__name_{i}": f.name for i, f in enumerate(given)}


@cache
def _compiled(style: str, plain: int, named: int, more: bool) -> CodeType:
    """Compile the code for so many arguments, `named` of them by their names alone, with `more` to do behind."""
    arguments = ["self", *(f"_{i}" for i in range(plain))]
    arguments += ["*", *(f"_{i}" for i in range(plain, plain + named))] if named else []
    body = [style.format(i) for i in range(plain + named)]
    body += ["__then(self)"] if more else []
    scope: dict[str, Any] = {}
    exec("\n ".join((f"def __init__({', '.join(arguments)}):", *(body or ["pass"]))), scope)
    code: CodeType = scope["__init__"].__code__
    return code


def _one_after_another(first: Callable[[Any], None], then: Callable[[Any], None]) -> Callable[[Any], None]:
    def both(self: Any) -> None:
        first(self)
        then(self)

    return both


def _completion(made: Sequence[dataclasses.Field[Any]]) -> Callable[[Any], None]:
    """Make what sets the attributes for which there was no argument."""
    own = [(f.name, _new(f)) for f in made if not f.init]
    optional = [(operator.attrgetter(f.name), f.name, _new(f)) for f in made if f.init]
    put = object.__setattr__

    def complete(self: Any) -> None:
        for name, new in own:
            put(self, name, new())
        for value, name, new in optional:
            if value(self) is _UNSET:
                put(self, name, new())

    return complete


def _new(f: dataclasses.Field[Any]) -> Callable[[], Any]:
    """Return what gives the default of a field."""
    if f.default_factory is dataclasses.MISSING:
        return lambda: f.default
    return f.default_factory


def _has_default(f: dataclasses.Field[Any]) -> bool:
    return f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING


def _argument(f: dataclasses.Field[Any]) -> Any:
    """Return the default argument for a field that has one."""
    return _UNSET if f.default is dataclasses.MISSING else f.default


def _defaults(fields: Sequence[dataclasses.Field[Any]]) -> tuple[Any, ...]:
    """Return the default arguments, which are those of the last fields."""
    first = next((i for i, f in enumerate(fields) if _has_default(f)), len(fields))
    for f in fields[first:]:
        if not _has_default(f):
            raise TypeError(f"non-default argument {f.name!r} follows default argument")
    return tuple(_argument(f) for f in fields[first:])


def _values(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the values of these attributes."""
    found = tuple(names)
    if not found:
        return lambda instance: ()
    value = operator.attrgetter(*found)
    return value if len(found) > 1 else lambda instance: (value(instance),)


def _comparison(operation: Callable[[Any, Any], Any], cls: Any) -> Any:
    values = _values(f.name for f in dataclasses.fields(cls) if f.compare)

    def compare(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return operation(values(self), values(other))

    return compare


def _hash(cls: Any) -> Any:
    fields = dataclasses.fields(cls)
    values = _values(f.name for f in fields if (f.compare if f.hash is None else f.hash))
    return lambda self: hash(values(self))


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _refuse_assignment(_: Any, name: str, value: Any) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


@cache
def _field_names(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls))


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _field_names(self.__class__)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    put = object.__setattr__
    for name, value in zip(_field_names(self.__class__), state, strict=True):
        put(self, name, value)


_FROZEN = {
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _state,  # of fields alone, not of what is found from them
    "__setstate__": _set_state,
}
