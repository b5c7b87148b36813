"""Mutants of a source file: the same program with one small mistake, of a kind people make.

Texts, annotations, imports, decorators, and the inside of a `raise` are not mutated: they change
messages, not behaviour.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPPOSITE = {**COMPARED, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
# Functions and directions that are taken for one another; with a dot, as attributes only.
TWINS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("floor", "ceil"),
    ("any", "all"),
    ("UP", "DOWN"),
    ("_UP", "_DOWN"),
    (".low", ".high"),
    (".next_minus", ".next_plus"),
    ("rounded_up", "rounded_down"),
]
OTHER = {name: twin for pair in TWINS for name, twin in (pair, pair[::-1])}
SIDES = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Mutant:
    """One mistake: where it is and what it replaces, and the whole file with it.

    The line is that of the statement in a function, 0 for what is done by an import.
    """

    name: str
    line: int
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a file, each with a name that edits elsewhere in the file do not change."""
    tree = ast.parse(source)
    parts = [ast.unparse(part) for part in tree.body]
    names: Counter[str] = Counter()
    for n, part in enumerate(tree.body):
        seen = {parts[n]}
        for place, line, node in _places(part, "module", 0):
            for after in _mistakes(node):
                mutated = ast.unparse(_replaced(part, node, after))
                if mutated in seen:
                    continue
                seen.add(mutated)
                name = f"{place}: {_difference(parts[n], mutated)}"
                names[name] += 1
                if names[name] > 1:
                    name += f" ({names[name]})"
                yield Mutant(name, line, "\n".join([*parts[:n], mutated, *parts[n + 1 :], ""]))


def plain_source(source: str) -> str:
    """A file as its mutants are written: line for line the same but for the mistake."""
    return "\n".join([*map(ast.unparse, ast.parse(source).body), ""])


def _difference(original: str, mutated: str) -> str:
    """The first line that differs, before and after."""
    lines = zip(original.splitlines(), mutated.splitlines(), strict=False)
    before, after = next((a.strip(), b.strip()) for a, b in lines if a != b)
    return f"{before} -> {after}"


def _places(node: ast.AST, place: str, line: int) -> Iterator[tuple[str, int, ast.AST]]:
    """Nodes that may hold a mistake, each with the function or class and the line it is in."""
    if _spoken(node):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        place = node.name if place == "module" else f"{place}.{node.name}"
    if isinstance(node, ast.FunctionDef):
        # what it does begins after its docstring
        line = next((part for part in node.body if not _spoken(part)), node.body[-1]).lineno
    elif isinstance(node, ast.stmt) and line:
        line = node.lineno
    if isinstance(node, ast.stmt | ast.expr | ast.comprehension):
        yield place, line, node
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params", "args"} and (
            isinstance(node, ast.FunctionDef | ast.AnnAssign | ast.arg | ast.ClassDef)
        ):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _places(inner, place, line)


def _spoken(node: ast.AST) -> bool:
    """Whether a node is a text or an import, and does nothing."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.alias):
        # a raise is dropped as a statement of its block, and not looked into
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def _mistakes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.expr):
        yield from _of_expression(node)
    elif isinstance(node, ast.comprehension):
        for n in range(len(node.ifs)):
            yield _with(node, ifs=[_not(c) if i == n else c for i, c in enumerate(node.ifs)])
    elif isinstance(node, ast.stmt):
        yield from _of_statement(node)


def _of_expression(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for n, op in enumerate(node.ops):
                ops = [COMPARED[type(op)]() if i == n else o for i, o in enumerate(node.ops)]
                yield _with(node, ops=ops)
        case ast.BinOp():
            yield from _computed(node)
        case ast.UnaryOp():
            yield node.operand
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.IfExp():
            yield _with(node, test=_not(node.test))
        case ast.Name(id=name) if name in OTHER:
            yield _with(node, id=OTHER[name])
        case ast.Attribute() if other := _twin(node.attr):
            yield _with(node, attr=other)
        case ast.Constant():
            yield from (_with(node, value=other) for other in _near(node.value))


def _computed(node: ast.BinOp) -> Iterator[ast.AST]:
    if _text(node.left) or _text(node.right):
        return
    if isinstance(node.op, ast.FloorDiv):
        up = _with(node, left=ast.UnaryOp(ast.USub(), node.left))
        yield ast.UnaryOp(ast.USub(), up)
    elif type(node.op) in COMPUTED:
        yield _with(node, op=COMPUTED[type(node.op)]())


def _twin(attribute: str) -> str | None:
    other = OTHER.get(attribute) or OTHER.get(f".{attribute}")
    return other and other.removeprefix(".")


def _near(value: object) -> list[object]:
    """Values next to a constant."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [2 * value]
    return [SIDES[value]] if value in SIDES else []


def _of_statement(node: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(node, ast.If):
        yield _with(node, test=_not(node.test))
    if isinstance(node, ast.AugAssign):
        if type(node.op) in COMPUTED:
            yield _with(node, op=COMPUTED[type(node.op)]())
        yield ast.Pass()
    if isinstance(node, ast.Expr | ast.Continue | ast.Break) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute)
    ):
        yield ast.Pass()
    if isinstance(node, ast.FunctionDef) and _is_none(node.returns):
        yield _with(node, body=[ast.Pass()])
    for field in ("body", "orelse"):
        block = getattr(node, field, None) or []
        for n, inner in enumerate(block if isinstance(block, list) else []):
            if isinstance(inner, ast.Raise):
                yield _with(node, **{field: [*block[:n], ast.Pass(), *block[n + 1 :]]})


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _not(test: ast.expr) -> ast.AST:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _with(test, ops=[OPPOSITE[type(test.ops[0])]()])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _with(node: ast.AST, **changes: object) -> ast.AST:
    other = copy.copy(node)
    for field, value in changes.items():
        setattr(other, field, value)
    return other


def _replaced(tree: ast.AST, node: ast.AST, after: ast.AST) -> ast.AST:
    class Swap(ast.NodeTransformer):
        def visit(self, here: ast.AST) -> ast.AST:
            return after if here is node else self.generic_visit(copy.copy(here))

        def generic_visit(self, here: ast.AST) -> ast.AST:
            for field, value in ast.iter_fields(here):
                if isinstance(value, list):
                    new = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
                    setattr(here, field, new)
                elif isinstance(value, ast.AST):
                    setattr(here, field, self.visit(value))
            return here

    return ast.fix_missing_locations(Swap().visit(tree))
