"""Attributes, and pragmas that say as much: taken out of preprocessed text, which the parser then reads, and noted.

before: struct __attribute__((packed)) s { char c; [[gnu::aligned(8)]] int x; };
after:  struct                         s { char c;                     int x; };   and packed, aligned with their places
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from polytile.c_flags import only_optimises
from polytile.dataclass import dataclass
from polytile.frontend.tokens import tokenize

# What these say is nothing that a SCoP could compute otherwise with: of functions how they are compiled, called, found
# and checked, of variables where they lie and what warnings they get.
_MEANINGLESS = """
    access alloc_align alloc_size always_inline annotate argument_with_type_tag artificial assume_aligned
    availability cdecl cf_check cold common const constructor copy counted_by deprecated designated_init
    destructor diagnose_if disable_tail_calls dllexport dllimport enable_if enum_extensibility error
    externally_visible fallthrough fastcall fentry_name fentry_section flag_enum flatten force_align_arg_pointer
    format format_arg function_return gnu_inline gnu_retain hot indirect_branch leaf likely malloc maybe_unused
    minsize ms_abi ms_hook_prologue musttail no_address_safety_analysis no_builtin no_caller_saved_registers
    no_icf no_instrument_function no_profile_instrument_function no_reorder no_sanitize no_sanitize_address
    no_sanitize_coverage no_sanitize_memory no_sanitize_thread no_sanitize_undefined no_split_stack
    no_stack_limit no_stack_protector no_stack_reuse nocf_check noclone nocommon nodebug nodiscard noescape
    noinline noipa nomerge nonnull nonnull_if_nonzero nonstring noplt Noreturn noreturn not_tail_called nothrow
    null_terminated_string_arg objc_bridge optnone patchable_function_entry pointer_with_type_tag pure regparm
    reproducible retain returns_nonnull section selectany sentinel simd speculative_load_hardening stack_protect
    stdcall sysv_abi target target_clones thiscall tls_model type_tag_for_datatype unavailable uninitialized
    unlikely unsequenced unused used visibility warn_if_not_aligned warn_unused_result warning
    zero_call_used_regs
"""
MEANINGLESS = frozenset(_MEANINGLESS.split())
# What these say of types is in the answers of the compiler.
LAYOUT = frozenset(("packed", "aligned", "align", "_Alignas", "alignas", "mode", "ms_struct", "gcc_struct"))
_FOUND = re.compile(
    r"""(?P<quoted>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<gnu>\b(?:__attribute__|__attribute|__declspec)\b) | (?P<standard>\[\s*\[) | (?P<alignas>\b_Alignas\b)""",
    re.VERBOSE,
)
_MENTIONED = re.compile(r"__attribute|__declspec|\[\s*\[|_Alignas")
_PRAGMA = re.compile(
    r"\s*#\s*pragma\s+(pack|ms_struct|scalar_storage_order|weak|redefine_extname|GCC\s+optimize)\b(.*)"
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute, at a place of the preprocessed text; `name` is the plain one: "packed" of `__packed__`."""

    name: str
    text: str
    line: int
    column: int

    @property
    def meaningless(self) -> bool:
        return self.name in MEANINGLESS or (self.name == "optimize" and only_optimises(self.text))

    @property
    def of_layout(self) -> bool:
        return self.name in LAYOUT


@dataclass(frozen=True, slots=True)
class LayoutPragma:
    """A pragma of a line of its own: its word and what follows it."""

    word: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Annotations:
    """What was taken out of preprocessed text, whose `lines` still have it."""

    lines: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    pragmas: tuple[LayoutPragma, ...] = ()

    @property
    def telling(self) -> bool:
        """Whether there is any that means something."""
        return bool(self.pragmas) or any(not a.meaningless for a in self.attributes)


def layout_pragma(line: str) -> bool:
    """Whether a line is a pragma that changes what declarations mean."""
    return _PRAGMA.match(line) is not None


def without_annotations(lines: Sequence[str]) -> tuple[list[str], Annotations]:
    """The lines as the parser reads them, blanks where annotations stood, and these."""
    pragmas = tuple(_pragmas(lines))
    plain = [*lines]
    for pragma in pragmas:
        plain[pragma.line - 1] = " " * len(plain[pragma.line - 1])
    text = "\n".join(plain)
    if not _MENTIONED.search(text):
        return plain, Annotations(tuple(lines), (), pragmas)
    spans = list(_spans(text))
    pieces, position = [], 0
    for start, end, kind in spans:
        if kind != "alignas":  # which the parser reads
            pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start:end])]
            position = end
    attributes = tuple(_attributes(text, spans))
    return "".join([*pieces, text[position:]]).split("\n"), Annotations(tuple(lines), attributes, pragmas)


def _pragmas(lines: Sequence[str]) -> Iterator[LayoutPragma]:
    for number, line in enumerate(lines, 1):
        if "#" in line and (found := _PRAGMA.match(line)):
            yield LayoutPragma(found[1].split()[-1], found[2].strip(), number)


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each annotation."""
    position = 0
    while found := _FOUND.search(text, position):
        kind = str(found.lastgroup)
        position = found.end()
        if kind == "quoted":
            continue
        end = _end(text, found.start() if kind == "standard" else position)
        if end is not None:
            yield found.start(), end, kind
            position = end


def _end(text: str, start: int) -> int | None:
    """Behind the bracket that closes the next one, where only blanks are before that."""
    open_brackets: list[str] = []
    for token in tokenize(text, start):
        if token.text in _CLOSING:
            open_brackets.append(_CLOSING[token.text])
        elif not open_brackets or (token.text in _CLOSING.values() and token.text != open_brackets.pop()):
            return None
        if not open_brackets:
            return token.offset + 1
    return None


def _attributes(text: str, spans: Sequence[tuple[int, int, str]]) -> Iterator[Attribute]:
    line, position = 1, 0
    for start, end, kind in spans:
        line += text.count("\n", position, start)
        position = start
        column = start - text.rfind("\n", 0, start)
        whole = text[start:end]
        if kind == "alignas":
            yield Attribute("_Alignas", whole, line, column)
            continue
        inside = whole[whole.index("(" if kind == "gnu" else "[") :].replace("\n", " ").strip()
        while inside[:1] in ("(", "[") and inside[-1:] in (")", "]"):
            inside = inside[1:-1].strip()
        yield from (Attribute(_plain(name), said, line, column) for name, said in _listed(inside))


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """before: "packed, gnu::aligned(4)"    after: ("packed", "packed"), ("aligned", "aligned(4)")"""
    depth, start = 0, 0
    parts: list[str] = []
    for token in tokenize(text):
        depth += (token.text in _CLOSING) - (token.text in _CLOSING.values())
        if token.text == "," and depth == 0:
            parts.append(text[start : token.offset])
            start = token.offset + 1
    for part in [*parts, text[start:]]:
        said = re.sub(r"^\s*(using\s+\w+\s*:(?!:))?\s*(\w+\s*::\s*)?", "", part).strip()
        if found := re.match(r"\w+", said):
            yield found[0], said


def _plain(name: str) -> str:
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name
