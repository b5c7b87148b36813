"""The notebooks run from the first cell to the last, in one process and an empty folder."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs").rglob("*.ipynb"))


def run(notebook):
    """Run all code cells in order; what each shows, and the names that are there at the end."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    names, shown = {"__name__": "__main__"}, []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not kept: they would vary by chance"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(notebook), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(notebook), "eval"), names)
            show = next(
                (f for n in ("_repr_svg_", "_repr_html_") if (f := getattr(value, n, None))), None
            )
            shown.append(show() if show else repr(value))
    return SimpleNamespace(**names), shown


def test_every_notebook_is_known():
    assert [file.name for file in NOTEBOOKS] == ["03-click-model.ipynb"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:polars")
def test_a_researcher_fits_a_click_model_and_draws_a_curve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, shown = run(NOTEBOOKS[0])

    assert 1 <= names.of_the_model < names.of_popularity
    assert len(names.day) == 24
    assert min(names.day) < max(names.day) / 2
    assert names.by_rank["rank"][0] == 1
    assert "Clicks of a made-up site" in shown[0]
    assert any(text.startswith("<svg") and "polyline" in text for text in shown)
    assert len(names.rows) == names.release.summary.rows
