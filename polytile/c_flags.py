"""Flags of the C compiler: which of them change what C means, and what kernels do about each.

`polytile cc` finds them on its command line, `--cflags` names them for one file. A flag that is not in the table keeps
SCoPs C: nobody knows whether kernels would compute what the program does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from fnmatch import fnmatchcase

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError


class Effect(Enum):
    """What a flag does to a SCoP."""

    NONE = "computes the same"
    VALUES = "changes values, and kernels compute them so"
    TYPES = "changes sizes, layouts or signs of types, which the host compiler is asked for"
    HOST_ONLY = "kernels cannot compute what C means with it"


@dataclass(frozen=True, slots=True)
class _Row:
    """Flags by their names behind `-f` or `-m`, without `no-` and values; `*` stands for anything. `off` is the effect
    of their `-fno-...`."""

    letter: str
    names: str
    effect: Effect
    off: Effect = Effect.NONE


# The first row that a flag is in counts.
_TABLE = (
    # Overflow of signed integers; -fno-strict-overflow is -fwrapv and -fwrapv-pointer, and no SCoP compares addresses.
    _Row("f", "wrapv", Effect.VALUES),
    _Row("f", "strict-overflow", Effect.NONE, off=Effect.VALUES),
    _Row("f", "wrapv-pointer", Effect.NONE),
    _Row("f", "trapv", Effect.HOST_ONLY),
    _Row("f", "single-precision-constant", Effect.VALUES),
    _Row("f", "strict-aliasing", Effect.NONE, off=Effect.VALUES),
    _Row(
        "f",
        "signed-char unsigned-char signed-bitfields unsigned-bitfields short-enums short-wchar pack-struct "
        "ms-extensions plan9-extensions",
        Effect.TYPES,
        off=Effect.TYPES,
    ),
    _Row("m", "long-double-* *bit-long-double align-double ms-bitfields", Effect.TYPES, off=Effect.TYPES),
    # Modes of rounding, signals, precision of the x87, characters of another set: kernels have none of these.
    _Row("f", "rounding-math signaling-nans excess-precision exec-charset wide-exec-charset", Effect.HOST_ONLY),
    _Row("f", "sso-struct", Effect.HOST_ONLY),
    # Checks at run time. What they find is found in the C.
    _Row("f", "sanitize sanitize-coverage sanitize-trap bounds-check check-pointer-bounds mudflap*", Effect.HOST_ONLY),
    # Objects that kernels cannot be linked with, or that call them in another way.
    _Row("m", "32 x32 16 31 abi regparm sseregparm rtd soft-float big-endian be iamcu fpmath 80387", Effect.HOST_ONLY),
    _Row("m", "daz-ftz", Effect.HOST_ONLY),
    # With these the compiler may round otherwise, as with -ffast-math; nothing says that it does, and kernels do not.
    _Row(
        "f",
        "fast-math unsafe-math-optimizations associative-math reciprocal-math finite-math-only signed-zeros "
        "trapping-math math-errno cx-limited-range cx-fortran-rules fp-contract float-store "
        "permitted-flt-eval-methods honor-* approx-func fp-int-builtin-inexact",
        Effect.NONE,
    ),
    # Optimisations, code and files of another kind, messages, words of C.
    _Row(
        "f",
        "aggressive-* align-* allocation-dce allow-* analyzer* ansi-escape-codes argument-* asm associative-* "
        "asynchronous-unwind-tables auto-inc-dec avoid-store-forwarding bit-tests blocks branch-* btr-* builtin "
        "builtin-* caller-saves canon-prefix-map canonical-system-headers caret-diagnostics cf-protection "
        "check-data-deps check-new checking code-hoisting colo*r-diagnostics combine-* common compare-* cond-mismatch "
        "conserve-* cprop-registers crossjumping cse-* data-sections dbg-* dce debug-* defer-* delayed-branch "
        "delete-* devirtualize* diagnostics-* directives-only dollars-in-identifiers dse dwarf* early-inlining "
        "eliminate-* emit-* enable-* error-limit exceptions expensive-* ext-dce extended-identifiers fat-lto-objects "
        "file-prefix-map finite-loops fold-* force-addr forward-propagate freestanding function-* gcse* gnat-* gnu-tm "
        "gnu-unique gnu89-inline graphite* guess-* harden* hoist-* hosted ident if-conversion* indirect-inlining "
        "inhibit-* inline inline-* input-charset instrument-* integrated-as ipa-* ira-* isolate-* ivopts jump-tables "
        "keep-* large-source-files late-combine-instructions lax-vector-conversions lifetime-* limit-* live-* loop-* "
        "lra-* lto lto-* macro-backtrace-limit macro-prefix-map malloc-dce max-errors max-include-depth mem-report* "
        "merge-* message-length modulo-* move-* nothrow-opt omit-frame-pointer openacc* openmp openmp-* opt-* "
        "optimize-* partial-* patchable-* pcc-struct-return pch-* peel-* peephole* pic pie PIC PIE plt post-ipa-* "
        "pre-ipa-* predictive-* prefetch-* preprocessed printf-return-value profile-use profile-correction "
        "profile-partial-* profile-prefix-* profile-reorder-* profile-dir random-seed record-* ree reg-struct-return "
        "regmove rename-* reorder-* report-bug rerun-* reschedule-* rtti sanitize-address-* sanitize-recover "
        "sanitize-sections sanitize-un* save-optimization-record sched* schedule-* section-anchors see sel-* "
        "selective-* semantic-interposition show-* shrink-wrap* simd-* slp-vectorize speculatively-* spell-checking "
        "split-* ssa-* stack-check stack-clash-protection stack-limit* stack-protector* stack-reuse standalone-debug "
        "stdarg-opt store-* strength-reduce strict-enums strict-flex-arrays strict-volatile-bitfields sync-libcalls "
        "tabstop thread-jumps threadsafe-statics time-report* tls-model toplevel-reorder tracer track-macro-expansion "
        "trampolines tree-* trigraphs trivial-auto-var-init unconstrained-* unit-at-a-time unreachable-traps unroll-* "
        "unsafe-loop-* unswitch-loops unwind-tables use-* var-tracking* variable-* vect-* vectorize verbose-asm "
        "version-loops-* visibility visibility-* vpt web whole-program working-directory zee zero-*",
        Effect.NONE,
    ),
    # Sets of instructions, costs, code for calls and branches.
    _Row(
        "m",
        "arch tune cpu cmodel 3dnow* 64 8bit-idiv abm accumulate-* addr-* address-mode adx aes align-* amx-* apx* "
        "avx* bmi* branch-* call-* cet-switch cld cldemote cl* cmpccxadd crc32 cx16 direct-extern-access "
        "dispatch-* dump-tune-* enqcmd evex* f16c fancy-math-387 fentry* fma* force-* fsgsbase function-return "
        "fused-madd fxsr general-regs-only gfni glibc hard-float harden-* hle hreset ieee-fp incoming-* "
        "indirect-* inline-* instrument-* intel-syntax asm kl large-data-threshold llvm lwp lzcnt manual-endbr "
        "memcpy-* memset-* mitigate-* mmx mov* mpx musl mwait* needed nop-mcount omit-* outline-atomics pc32 pc64 "
        "pc80 pclmul pconfig pku popcnt prefer-* preferred-* prefetch* prfchw ptwrite push-* raoint rdpid rdrnd "
        "rdseed recip record-* red-zone relax* retpoline* rtm sahf serialize sgx sha* shstk skip-* sm3 sm4 sse* "
        "ssse3 stack* store-max stringop-* stv tbm tls-* tsxldtrk tune-* uintr unroll-* user_msr usermsr vaes "
        "veclibabi vpclmulqdq vzeroupper waitpkg wbnoinvd widekl xop xsave* branch-protection fix-* fpu float-abi",
        Effect.NONE,
    ),
)
# Flags that override each other, by what they say something of.
_SAME = {
    **dict.fromkeys(("trapv", "wrapv", "strict-overflow"), "overflow"),
    **dict.fromkeys(("signed-char", "unsigned-char"), "char"),
    **dict.fromkeys(("signed-bitfields", "unsigned-bitfields"), "bitfields"),
    **dict.fromkeys(("32", "64", "x32", "16"), "mode"),
}
# Macros that gcc defines with flags, by what a flag sets; those of `-O` and `-std=` are in `predefined`.
_MACROS = {
    "-funsigned-char": ("__CHAR_UNSIGNED__=1",),
    "-fno-signed-char": ("__CHAR_UNSIGNED__=1",),
    "-fshort-wchar": (
        "__WCHAR_TYPE__=unsigned short", "__WCHAR_MAX__=0xffff", "__WCHAR_MIN__=0", "__WCHAR_WIDTH__=16",
        "__SIZEOF_WCHAR_T__=2",
    ),
    "-ffast-math": ("__FAST_MATH__=1",),
    "-ffreestanding": ("__STDC_HOSTED__=0",),
    "-fopenmp": ("_OPENMP=201511",),
}  # fmt: skip
_VERSIONS = {"99": "199901L", "9x": "199901L", "11": "201112L", "1x": "201112L", "17": "201710L", "18": "201710L"}
_UTF8 = ("utf-8", "utf8")
_NEUTRAL = ("-O", "-W", "-g", "-w", "-std=", "--std=", "-ansi", "-pedantic", "-pthread", "-pipe", "-undef", "--param=")


def effect(word: str) -> Effect | None:
    """Return what one flag does, or None for a flag that is not known."""
    switch, off, value = _parts(word)
    if switch is None:
        return Effect.NONE if word.startswith(_NEUTRAL) else None
    letter, name = switch[0], switch[1:]
    if _is_harmless(name, off, value):
        return Effect.NONE
    for row in _TABLE:
        if letter == row.letter and any(fnmatchcase(name, pattern) for pattern in row.names.split()):
            return row.off if off else row.effect
    return None


def host_only(words: Sequence[str]) -> str | None:
    """Return the first flag with which kernels cannot compute what C means, as far as known, or None where all can."""
    return next((w for w in _counting(words) if effect(w) in (None, Effect.HOST_ONLY)), None)


def of_values(words: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that change values or types, in their order. The C that kernels are compared with is compiled
    with these; flags that give freedom to round differently are none of them."""
    return tuple(w for w in _counting(words) if effect(w) in (Effect.VALUES, Effect.TYPES))


def of_types(words: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that change sizes, layouts or signs of types."""
    return tuple(w for w in _counting(words) if effect(w) is Effect.TYPES)


def only_optimises(text: str) -> bool:
    """Return whether `optimize("O3", "no-tree-vectorize", 2)`, an attribute or a pragma, changes no value."""
    words = re.findall(r"[\w=.+-]+", text.partition("(")[2])
    flags = (f"-O{w}" if w.isdigit() else w if w[0] == "-" else f"-{w}" if w[0] == "O" else f"-f{w}" for w in words)
    return all(effect(flag) is Effect.NONE for flag in flags)


def check_flags(words: Sequence[str]) -> None:
    """Raise UsageError for what is no flag of C's meaning, or one that kernels cannot compute with."""
    for word in words:
        if not word.startswith(("-f", "-m", *_NEUTRAL)):
            hint = "macros and folders are -D and -I; of the C compiler's flags those such as -funsigned-char are meant"
            raise UsageError(f"--cflags: {word} does not say what C means", hint=hint)
    refused = host_only(words)
    if refused is not None:
        what = "is not known" if effect(refused) is None else "means what kernels cannot compute"
        raise UsageError(f"--cflags: {refused} {what}", hint="`polytile cc` leaves the SCoPs of such files C")


def wraps(words: Sequence[str]) -> bool:
    """Return whether signed integers wrap around where they overflow."""
    return any(effect(w) is Effect.VALUES and _switch(w) == "overflow" for w in _counting(words))


def unsigned_char(words: Sequence[str]) -> bool:
    """Return whether flags say that `char` has no sign."""
    return any(w in ("-funsigned-char", "-fno-signed-char") for w in _counting(words))


def predefined(words: Sequence[str]) -> tuple[str, ...]:
    """Return the macros, `NAME=VALUE`, that gcc defines with these flags and not without them."""
    found = [macro for w in _counting(words) for macro in _MACROS.get(w, ())]
    optimised = [w for w in words if w.startswith("-O")][-1:]
    if optimised and optimised != ["-O0"]:
        found += ["__OPTIMIZE__=1", *(["__FAST_MATH__=1"] if optimised == ["-Ofast"] else [])]
    standard = re.fullmatch(r"-?-std=(c|gnu)(\d\w)", ([w for w in words if "-std=" in w] or [""])[-1])
    if standard is not None and standard[2] in _VERSIONS:
        found += [f"__STDC_VERSION__={_VERSIONS[standard[2]]}"]
        found += ["__STRICT_ANSI__=1"] if standard[1] == "c" else []
    return tuple(found)


def single_constants(words: Sequence[str]) -> bool:
    """Return whether constants without a suffix are `float`."""
    return "-fsingle-precision-constant" in _counting(words)


def aliases_by_type(words: Sequence[str]) -> bool:
    """Return whether pointers to different types point to different memory."""
    return "-fno-strict-aliasing" not in _counting(words)


def _counting(words: Sequence[str]) -> list[str]:
    """Return the flags of gcc's `-f` and `-m` that no later one overrides.

    before: -fwrapv -O2 -fno-wrapv -funsigned-char
    after:  -fno-wrapv -funsigned-char
    """
    last: dict[str, str] = {}
    for word in words:
        if (switch := _switch(word)) is not None:
            last.pop(switch, None)
            last[switch] = word
    return list(last.values())


def _switch(word: str) -> str | None:
    """Return the switch that a flag sets; flags of one switch override each other."""
    switch, _, value = _parts(word)
    if switch is None:
        return None
    name = switch[1:]
    one_of_many = name.startswith(("sanitize", "builtin-")) and value != "all"
    return _SAME.get(name, f"{switch}={value}" if one_of_many and "no-" in word[:5] else switch)


def _parts(word: str) -> tuple[str | None, bool, str]:
    """Split a flag into name, on or off, and value: -fno-pack-struct=2 -> fpack-struct, off, 2. The name is None for
    words that are neither -f nor -m."""
    if not word.startswith(("-f", "-m")) or len(word) < 3:
        return None, False, ""
    name, _, value = word[2:].partition("=")
    off = name.startswith("no-")
    return word[1] + name.removeprefix("no-"), off, value


def _is_harmless(name: str, off: bool, value: str) -> bool:
    """Return whether the value of a flag is what kernels compute by."""
    match name:
        case "exec-charset":
            return value.lower() in _UTF8
        case "excess-precision":
            return value in ("fast", "standard")
        case "fpmath":
            return value == "sse"
        case "abi":
            return value in ("sysv", "lp64")
        case "sso-struct":
            return value in ("native", "little-endian")
        case "80387" | "sanitize" | "sanitize-trap" | "sanitize-coverage":
            return off if name != "80387" else not off
    return False
