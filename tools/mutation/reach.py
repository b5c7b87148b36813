"""The statements that a test reaches, so that a mutant is tried on those tests only.

Statements that cannot be observed count as reached: all of them, by a test that starts another
process, and those of a fixture of several tests, by all of these tests. A cached computation is not
observed again; for that reason, survivors are tried once more with every test.
"""

import ast
import builtins
import sys

_NAME = "__reached__"
_PROCESSES = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.system"}


def marked(source, file):
    """The same program, with each statement of a function noting that it was reached."""
    tree = ast.parse(source)
    size = len(source.splitlines()) + 1
    head = f"import builtins\n_REACHED = vars(builtins).setdefault('{_NAME}', {{}})"
    head = ast.parse(f"{head}.setdefault({file!r}, bytearray({size}))").body
    tree = _Marks().visit(tree)
    first = next(n for n, part in enumerate(tree.body) if not _goes_first(part))
    tree.body[first:first] = head
    return ast.unparse(ast.fix_missing_locations(tree))


def _goes_first(part):
    return _is_text(part) or (isinstance(part, ast.ImportFrom) and part.module == "__future__")


def _is_text(part):
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


class _Marks(ast.NodeTransformer):
    inside = False

    def generic_visit(self, node):
        was, self.inside = self.inside, self.inside or isinstance(node, ast.FunctionDef)
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody") if self.inside else ():
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [part for inner in block for part in self._marked(inner)])
        self.inside = was
        return node

    def _marked(self, part):
        if not _is_text(part):
            yield ast.parse(f"_REACHED[{part.lineno}] = 1").body[0]
        yield part


class Reached:
    """What is reached while a test runs."""

    def __init__(self):
        self.files = vars(builtins).setdefault(_NAME, {})
        self.shared, self.elsewhere = {}, False
        sys.addaudithook(self._audit)

    def _audit(self, event, _values):
        self.elsewhere |= event in _PROCESSES

    def begin(self):
        """Forget what was reached."""
        self.elsewhere = False
        for lines in self.files.values():
            lines[:] = bytes(len(lines))

    def share(self):
        """What was reached until now counts for every test."""
        for file, lines in self.lines().items():
            self.shared.setdefault(file, set()).update(lines)

    def lines(self):
        """By file, the lines reached since the beginning; None where they cannot be seen."""
        if self.elsewhere:
            return None
        return {
            file: [
                n for n, reached in enumerate(lines) if reached or n in self.shared.get(file, ())
            ]
            for file, lines in self.files.items()
        }


def reaching(file, line, reached):
    """The tests that reach a line of a file; all of them for line 0, which is run by an import."""
    return {
        test
        for test, lines in reached.items()
        if lines is None or not line or line in lines.get(file, ())
    }
