"""The entry for other compilers: isl text and statement bodies in, a Scop out, without any C file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import islpy as isl
from pycparser import c_ast, c_parser

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, UserError
from polytile.frontend.access_relations import lift
from polytile.frontend.accesses import Collector
from polytile.frontend.affine import Evaluator
from polytile.frontend.array_declaration import Array as Declared
from polytile.frontend.array_declaration import declared
from polytile.frontend.expressions import Translator
from polytile.frontend.index_width import leaves_int, with_moderate_sizes
from polytile.frontend.isl_arguments import Order, Relation, map_text, parse, schedule_text, set_text
from polytile.frontend.name_binding import Names
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.reductions import reduction
from polytile.frontend.relations import without_in_map
from polytile.frontend.scop_region import Region, Symbol
from polytile.frontend.statements import Branches
from polytile.ir.expr import INT, CType, Name, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.isl_util import maps, sets
from polytile.ir.scop import AccessKind, AccessRelation, Array, Parameter, Scop, Statement
from polytile.ir.source_span import Span
from polytile.ir.substitute import with_names
from polytile.tracebacks import for_callers

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@for_callers
def scop_from_isl(
    name: str,
    *,
    domain: Relation,
    schedule: Order,
    reads: Relation,
    writes: Relation,
    may_writes: Relation = "{}",
    bodies: Mapping[str, str | tuple[Stmt, ...]],
    arrays: Sequence[Declared | Array],
    parameters: Sequence[Parameter] | None = None,
    context: Relation = "{:}",
) -> Scop:
    """Build a Scop from isl's relations: text in its notation, or objects of islpy.

    `domain` is a union set, `reads`, `writes` and `may_writes` are union maps from it to the arrays, `schedule` is a
    union map or a schedule tree. `bodies` gives each statement as C, in terms of the names of its dimensions, or as
    a statement tree. `arrays` are `polytile.Array("A", "double", ("n", "n"))`. Parameters that are not declared are
    ints. Raises `UsageError` for an argument of the wrong kind, and `UserError` for whatever does not fit.
    """
    if not name.isidentifier():
        raise UserError(f"`{name}` cannot be the name of a SCoP", hint="use a C identifier: it names the entry point")
    known = declared(arrays)
    accesses = {"reads": reads, "writes": writes, "may_writes": may_writes}
    texts = {argument: map_text(argument, value) for argument, value in accesses.items()}
    given = _Given.read(set_text("domain", domain), texts, known, set_text("context", context))
    params = given.parameters(parameters)
    space = isl.Set(f"[{', '.join(p.name for p in params)}] -> {{ : }}").get_space()
    unknown = sorted(set(bodies) - set(given.domains))
    if unknown:
        raise UserError(f"bodies has `{unknown[0]}`, but domain does not", hint="give a body for each set of domain")
    statements = tuple(_statement(given, s, bodies, params, space) for s in given.domains)
    tree = _schedule(schedule_text(schedule), given)
    promised = given.context.align_params(space)
    moderate = with_moderate_sizes(promised, params)
    wide = any(leaves_int(s.domain, range(len(s.iterators)), moderate) for s in statements)
    return Scop(name, params, promised, known, statements, tree, wide=wide)


@dataclass(slots=True)
class _Given:
    domains: dict[str, isl.Set]
    relations: dict[str, isl.UnionMap]  # by argument
    arrays: dict[str, Array]
    context: isl.Set
    iterators: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, domain: str, relations: Mapping[str, str], arrays: Sequence[Array], context: str) -> _Given:
        domains: dict[str, isl.Set] = {}
        for piece in sets(parse("domain", isl.UnionSet, domain)):
            if not piece.get_tuple_name():
                raise UserError(f"domain has a set without a name: {piece}", hint="name each statement: { S[i] : ... }")
            domains[piece.get_tuple_name()] = piece
        if not domains:
            raise UserError("domain is empty", hint="give at least one statement: { S[i] : 0 <= i < 4 }")
        unions = {k: parse(k, isl.UnionMap, v) for k, v in relations.items()}
        given = cls(domains, unions, {a.name: a for a in arrays}, parse("context", isl.Set, context).params())
        for statement, piece in domains.items():
            given.iterators[statement] = tuple(piece.get_dim_name(_SET, k) or f"i{k}" for k in range(piece.dim(_SET)))
        given._check_relations()
        return given

    def _check_relations(self) -> None:
        for argument, union in self.relations.items():
            for relation in maps(union):
                source, target = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
                if source not in self.domains or relation.dim(isl.dim_type.in_) != self.domains[source].dim(_SET):
                    raise UserError(
                        f"{argument} starts from `{source}`, which is no statement of domain with that many dimensions",
                        hint=f"the statements are {', '.join(self.domains)}",
                    )
                if target not in self.arrays:
                    raise UserError(f"{argument} reaches `{target}`, which is not in arrays", hint="declare the array")
                rank = self.arrays[target].access_rank
                if relation.dim(isl.dim_type.out) != rank:
                    raise UserError(
                        f"{argument} uses {relation.dim(isl.dim_type.out)} dimensions of `{target}`, which has {rank}",
                        hint="give one dimension per extent, and a field number for structs",
                    )

    def parameters(self, declared: Sequence[Parameter] | None) -> tuple[Parameter, ...]:
        """The parameters, in the order given, or as they occur in the isl texts."""
        used: list[str] = []
        pieces: list[isl.Set | isl.UnionMap] = [*self.domains.values(), *self.relations.values(), self.context]
        for piece in pieces:
            space = piece.get_space()
            used += [space.get_dim_name(_PARAM, k) or "" for k in range(space.dim(_PARAM))]
        sizes = [n.name for a in self.arrays.values() for e in a.extents if e for n in walk(e) if isinstance(n, Name)]
        names = list(dict.fromkeys(used + sizes))
        if declared is None:
            return tuple(Parameter(n, INT) for n in names)
        missing = [n for n in names if n not in {p.name for p in declared}]
        if missing:
            raise UserError(f"the parameter `{missing[0]}` is used but not in parameters", hint="declare it")
        return tuple(declared)


def _schedule(text: str, given: _Given) -> isl.Schedule:
    domain = isl.UnionSet("{}")
    for piece in given.domains.values():
        domain = domain.union(isl.UnionSet.from_set(piece))
    if "domain" in text:
        tree = parse("schedule", isl.Schedule, text)
        if not tree.get_domain().is_equal(domain):
            raise UserError("the domain of the schedule tree is not domain", hint="both must hold the same instances")
    else:
        tree = isl.Schedule.from_domain(domain).insert_partial_schedule(_band(text, domain))
    dates = tree.get_map().intersect_domain(domain)
    if not dates.is_injective():
        raise UserError(
            "schedule gives two instances the same date",
            hint="order all instances, for example with one more dimension",
        )
    return tree


def _band(text: str, domain: isl.UnionSet) -> isl.MultiUnionPwAff:
    union = parse("schedule", isl.UnionMap, text).intersect_domain(domain)
    if not domain.is_subset(union.domain()):
        raise UserError(
            f"schedule does not order {domain.subtract(union.domain())}", hint="schedule every instance of domain"
        )
    if not union.is_single_valued():
        raise UserError("schedule gives an instance more than one date", hint="give each instance one date")
    try:
        return isl.MultiUnionPwAff.from_union_map(union)
    except isl.Error:
        raise UserError(
            "the dates of schedule do not all have the same number of dimensions",
            hint="fill shorter dates up with zeros: { S[i] -> [i, 0]; T[i, j] -> [i, j] }",
        ) from None


# Statements ---------------------------------------------------------------------------------------------------------
def _statement(
    given: _Given,
    name: str,
    bodies: Mapping[str, str | tuple[Stmt, ...]],
    parameters: Sequence[Parameter],
    space: isl.Space,
) -> Statement:
    if name not in bodies:
        raise UserError(f"the statement `{name}` has no body", hint=f"add bodies[{name!r}]")
    body = bodies[name]
    iterators = given.iterators[name]
    domain = given.domains[name].align_params(space)
    for k, iterator in enumerate(iterators):
        domain = domain.set_dim_name(_SET, k, iterator)
    tree = _parse_body(name, body, given, iterators, parameters) if isinstance(body, str) else body
    accesses = _accesses(name, given, space)
    _Checker.of(name, given, parameters).check(tree)
    text = " ".join(body.split()) if isinstance(body, str) else ""
    return Statement(name, iterators, domain, tree, accesses, NOWHERE, reduction(tree), text)


def _accesses(name: str, given: _Given, space: isl.Space) -> tuple[AccessRelation, ...]:
    kinds = {"reads": AccessKind.READ, "writes": AccessKind.WRITE, "may_writes": AccessKind.MAY_WRITE}
    return tuple(
        AccessRelation(relation.get_tuple_name(isl.dim_type.out) or "", kind, relation.align_params(space))
        for argument, kind in kinds.items()
        for relation in maps(given.relations[argument])
        if relation.get_tuple_name(isl.dim_type.in_) == name
    )


def _parse_body(
    name: str, text: str, given: _Given, iterators: Sequence[str], parameters: Sequence[Parameter]
) -> tuple[Stmt, ...]:
    """C text to a statement tree in which iterators and parameters are names."""
    block = _parse_c(name, text)
    types = {p.name: p.type for p in parameters} | dict.fromkeys(iterators, INT)
    symbols = {n: Symbol(n, t) for n, t in types.items()}
    for a in given.arrays.values():
        symbols[a.name] = Symbol(a.name, a.element, (None,) * a.rank, a.fields)
    region = Region(name, name, (block,), Span(0, 0, 0, 0), symbols, NOWHERE)
    try:
        names = Names.of(region)
        _check_unwritten(names, types)
        evaluator = Evaluator(lambda n: types.get(n, "it is not a parameter"))
        trees = Branches(Translator(names), evaluator).many(names.body[0], isl.Set("{ : }"))
    except UserError as problem:
        raise UserError(f"the body of `{name}`: {problem.message}", hint=problem.hint) from None
    if not trees:
        raise UserError(f"the body of `{name}` does nothing", hint="give an assignment")
    return tuple(with_names(t, types) for t in trees)


def _check_unwritten(names: Names, types: Mapping[str, CType]) -> None:
    for variable in names.outer.values():
        if variable.written and variable.name in types:
            raise UserError(f"it assigns to `{variable.name}`", hint="iterators and parameters are fixed")


def _parse_c(name: str, text: str) -> c_ast.Compound:
    ended = text if text.rstrip().endswith((";", "}")) else text + ";"
    try:
        tree = c_parser.CParser().parse(f"void body(void) {{ {ended}\n}}", f"bodies[{name!r}]")
    except c_parser.ParseError as problem:
        raise UserError(f"the body of `{name}` is not C: {text.strip()[:80]}", hint=str(problem)) from None
    body = tree.ext[0].body
    assert isinstance(body, c_ast.Compound)
    return body


@dataclass(slots=True)
class _Checker:
    """Compares what a body does with the relations that were given for its statement."""

    name: str
    given: _Given
    collector: Collector
    points: isl.Set

    @classmethod
    def of(cls, name: str, given: _Given, parameters: Sequence[Parameter]) -> _Checker:
        types = {p.name: p.type for p in parameters}
        evaluator = Evaluator(lambda n: types.get(n, "it is not a parameter"))
        iterators = given.iterators[name]
        evaluator.iterators = dict.fromkeys(iterators, INT)
        domain = given.domains[name]
        for k in range(len(iterators)):
            domain = domain.move_dims(_PARAM, k, _SET, 0, 1).set_dim_name(_PARAM, k, iterators[k])
        return cls(name, given, Collector(evaluator, lenient=True), domain.params().intersect_params(given.context))

    def check(self, body: Sequence[Stmt]) -> None:
        try:
            self.collector.body(body, self.points)
        except (UserError, NotAffineError) as problem:
            message = problem.message if isinstance(problem, UserError) else problem.reason
            raise UserError(f"the body of `{self.name}`: {message}", hint="give the body in affine terms") from None
        read, written = self._union("reads"), self._union("writes").union(self._union("may_writes"))
        done: dict[AccessKind, isl.UnionMap] = {k: isl.UnionMap("{}") for k in AccessKind}
        for raw in self.collector.found:
            array = self.given.arrays.get(raw.access.array)
            if array is None:
                raise UserError(
                    f"the body of `{self.name}` uses `{raw.access.array}`, which is not in arrays",
                    hint="declare the array, or the parameter",
                )
            if len(raw.access.subscripts) != array.rank:
                raise UserError(
                    f"the body of `{self.name}` gives {len(raw.access.subscripts)} subscripts to `{array.name}`, "
                    f"which has {array.rank} dimensions",
                    hint="give one subscript per extent",
                )
            relation = lift(raw, array.fields, self.name, self.given.iterators[self.name], self.collector.evaluator)
            union = isl.UnionMap.from_map(without_in_map(relation, raw.inner))
            self._must_hold(union, read if raw.kind is AccessKind.READ else written, raw.kind, array.name)
            if not raw.path:
                done[raw.kind] = done[raw.kind].union(union)
        self._check_promised(done[AccessKind.WRITE])

    def _must_hold(self, actual: isl.UnionMap, stated: isl.UnionMap, kind: AccessKind, array: str) -> None:
        if not actual.is_subset(stated):
            argument = "reads" if kind is AccessKind.READ else "writes or may_writes"
            raise UserError(
                f"the body of `{self.name}` {kind.value}s elements of `{array}` that {argument} does not contain: "
                f"{actual.subtract(stated)}",
                hint=f"add them to {argument}",
            )

    def _check_promised(self, written: isl.UnionMap) -> None:
        arrays = {a for k, a in self.collector.unknown if k is AccessKind.WRITE}
        for relation in maps(self._union("writes").subtract(written)):
            if relation.get_tuple_name(isl.dim_type.out) not in arrays:
                raise UserError(
                    f"writes promises what the body of `{self.name}` does not always write: {relation}",
                    hint="move it to may_writes",
                )

    def _union(self, argument: str) -> isl.UnionMap:
        own = isl.UnionSet.from_set(self.given.domains[self.name])
        return self.given.relations[argument].intersect_domain(own).intersect_params(self.given.context)
