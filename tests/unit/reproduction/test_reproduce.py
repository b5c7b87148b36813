"""reproduce(): published numbers as printed, verdicts that can go both ways, and resumption."""

import json
import re
import shutil
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import slogan
import slogan.planning.solvers
from slogan.budget import PrivacyBudget, exact
from slogan.errors import OptionError
from slogan.reproduction import published, reproduce, solvers
from slogan.reproduction.laboratory import Seconds, Store
from slogan.reproduction.pages import Kind, against_bound, observed, optima_over_fewer_pairs
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS

DOCS = Path(__file__).parents[3] / "docs" / "reproduction"
SECRET = "my secret illness"
NAMES = ("table3", "table4", "figure3", "table5", "table6", "figure4", "figure5", "table7")


# --- published numbers ---


def test_table_4_never_falls_with_either_parameter():
    table = np.array(published.TABLE_4)

    assert table.shape == (len(EXP_EPSILONS), len(DELTAS))
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    assert table[EXP_EPSILONS.index("2"), DELTAS.index("0.5")] == published.LARGEST


def test_table_4_is_between_the_shares_that_the_text_names():
    table = np.array(published.TABLE_4)

    assert table.min() / published.CLICKS == pytest.approx(0.0708, abs=5e-5)
    assert table.max() / published.CLICKS == pytest.approx(0.262, abs=5e-4)


def test_tables_5_and_6_are_shares_by_support_and_size():
    shape = (len(published.SUPPORTS), len(published.SIZES))
    recall, sums = np.array(published.TABLE_5), np.array(published.TABLE_6)

    assert recall.shape == sums.shape == shape
    assert ((recall > 0.7) & (recall < 1)).all()
    assert (np.diff(sums, axis=1) > 0).all(), "at a fixed s the published sums rise with |O|"
    assert [exact(s) for s in published.SUPPORTS] == sorted(map(exact, published.SUPPORTS))


def test_table_7_repeats_itself_where_its_parts_meet():
    for name in ("SPE (heuristic)", "Matlab bintprog", "NEOS qsopt_ex", "NEOS feaspump"):
        above = published.TABLE_7A[name][list(published.TABLE_7A_KEYS).index("0.1")]
        below = published.TABLE_7B[name][list(published.TABLE_7B_KEYS).index("2")]
        assert above == below
    assert len(published.table_7()) == 60
    assert published.TABLE_7A.keys() == published.TABLE_7B.keys()


def test_table_3_is_the_log_of_the_other_tables():
    assert published.TABLE_3["clicks"][2] == published.CLICKS
    assert published.TABLE_3["users"][2] == published.USERS
    assert published.TABLE_3["pairs"][2] == published.PAIRS


# --- verdicts ---


def test_a_value_above_its_bound_is_not_reachable():
    verdict = against_bound([(10, 2), (3, 4), (900, 3)], what="cells", why="it is so")

    assert verdict.kind is Kind.UNREACHABLE
    assert verdict.why == (
        "2 of 3 cells exceed the bound, by a factor of 5.0 to 300, because it is so."
    )


def test_a_value_at_its_bound_is_not_excluded():
    verdict = against_bound([(4, 4), (1, 2)], what="cells", why="it is so")

    assert verdict.kind is Kind.POSSIBLE


def test_a_single_value_is_spoken_of_as_one():
    verdict = against_bound([(10, 2)], what="cell", why="it is so")

    assert verdict.why == "The cell exceeds the bound, by a factor of 5.0, because it is so."


def test_sums_over_fewer_pairs_may_fall_and_not_rise():
    assert optima_over_fewer_pairs([(3, 2), (3, 1)], what="Sums").kind is Kind.POSSIBLE
    assert optima_over_fewer_pairs([(3, 2), (2, 3)], what="Sums").kind is Kind.CONTRADICTORY
    assert optima_over_fewer_pairs(published.TABLE_6, what="Sums").kind is Kind.CONTRADICTORY


def test_a_sentence_holds_here_or_does_not():
    assert observed(holds=True, what="a", seen="b").kind is Kind.HOLDS
    assert observed(holds=False, what="a", seen="b").kind is Kind.FAILS


# --- resumption ---


def test_a_part_is_computed_once_for_a_log_and_its_parameters(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"n": (1, 2)}

    for base, parameters in (("a", {}), ("a", {}), ("a", {"s": 2}), ("b", {"s": 2})):
        store = Store(tmp_path, base)
        assert store.remember("part", parameters, compute) == {"n": [1, 2]}
    assert len(calls) == 3
    Store(tmp_path, "b", force=True).remember("part", {"s": 2}, compute)
    assert len(calls) == 4
    (tmp_path / "part.json").write_text("{half")
    Store(tmp_path, "b").remember("part", {"s": 2}, compute)
    assert len(calls) == 5


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rows = [
        (u, f"query {n // 2}", f"www.s{n}.com", 1 + (u + n) % 2)
        for u, n in product(range(24), range(6))
        if (u * n) % 4 != 1
    ]
    rows.append((1, SECRET, "www.only-me.com", 2))
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def made(log, tmp_path_factory):
    """Everything about a small log, in a hurry, with the foreign solvers not installed."""
    folder = tmp_path_factory.mktemp("made") / "pages"
    absent = [
        solvers.Peer(name=peer.name, variant=peer.variant, library="no_such_library")
        for peer in solvers.PEERS
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solvers, "PEERS", absent)
        patch.setattr(reproduce, "QUICK", Seconds(size=0.3, supports=0.1, solver=0.3))
        yield folder, slogan.reproduce(folder, log=log, quick=True)


def test_every_table_and_figure_of_section_6_has_a_page(made):
    folder, done = made
    index = (folder / "README.md").read_text()

    assert [page.experiment.name for page in done.pages] == [*NAMES, "figure6"]
    for page in done.pages:
        assert f"({page.file})" in index
        text = (folder / page.file).read_text()
        assert "For the curator only" in text
        assert "\n- **" in text
        for chart in page.page.charts:
            assert f"({chart.name}.svg)" in text
            assert (folder / f"{chart.name}.svg").read_text().startswith("<svg")


def test_pages_have_one_sentence_a_line(made):
    for file in made[0].glob("*.md"):
        prose = [line for line in file.read_text().splitlines() if line and line[0] not in "|#>"]
        assert [x for x in prose if re.search(r"[a-z0-9)`]{3}[.?!] [A-Z][a-z]+ [a-z]", x)] == []


def test_published_values_that_no_log_can_give_are_called_so(made):
    kinds = {page.experiment.name: [v.kind for v in page.page.verdicts] for page in made[1].pages}

    for name in NAMES[1:]:
        assert kinds[name][0] is Kind.UNREACHABLE
    assert Kind.UNREACHABLE not in kinds["table3"]
    assert kinds["figure6"][0] is Kind.UNREACHABLE


def test_a_missing_solver_says_how_to_get_it(made):
    assert "pip install 'slogan[bench]'" in (made[0] / "table-7.md").read_text()


def test_no_text_of_the_log_is_in_what_is_written(made):
    for file in made[0].rglob("*.*"):
        text = file.read_text()
        assert SECRET not in text
        assert "query 1" not in text


def test_a_second_run_computes_nothing(made, log):
    folder, first = made
    before = {file: file.read_bytes() for file in (folder / "data").iterdir()}

    def busy(name):
        raise AssertionError(f"{name} was asked again")

    with pytest.MonkeyPatch.context() as idle:
        idle.setattr(slogan.planning.solvers, "load", busy)
        again = slogan.reproduce(folder, log=log, quick=True)

    assert first.computed
    assert not first.reused
    assert (again.computed, again.reused) == ((), first.computed)
    assert {file: file.read_bytes() for file in (folder / "data").iterdir()} == before
    assert [p.page.verdicts for p in again.pages] == [p.page.verdicts for p in first.pages]


def test_one_table_can_be_asked_for(made, log, tmp_path):
    done = slogan.reproduce(tmp_path / "one", only=["table3"], log=log, quick=True)

    assert [page.file for page in done.pages] == ["table-3.md"]
    assert not (tmp_path / "one" / "README.md").exists()
    assert json.dumps(done.to_dict())


def test_a_table_that_the_paper_has_not_is_refused(tmp_path):
    with pytest.raises(OptionError, match="table4"):
        slogan.reproduce(tmp_path, only=["table9"])


def test_values_of_this_log_obey_what_is_provable(made):
    data = {
        file.stem: json.loads(file.read_text())["found"] for file in (made[0] / "data").iterdir()
    }
    sizes = [step["value"] for step in data["output_size"].values()]

    assert all(a <= b for a, b in pairwise(sizes))
    for cell in data["frequent_pairs"].values():
        if "value" in cell:
            assert cell["value"] >= cell["bound"] - 1e-9
            assert cell["recall"] <= cell["recall_bound"]
    for told in (data["triplets_4000"], data["triplets_6000"]):
        assert sum(told["below"][:4]) <= told["possible"]


def test_stored_results_give_the_pages_of_the_documentation(tmp_path, monkeypatch):
    """Byte for byte, and with nothing computed again."""
    monkeypatch.setattr(solvers.Peer, "missing", None)
    shutil.copytree(DOCS / "data", tmp_path / "data")

    done = slogan.reproduce(tmp_path)

    assert done.computed == ()
    files = sorted(file.name for file in DOCS.iterdir() if file.is_file())
    assert files == sorted(file.name for file in tmp_path.iterdir() if file.is_file())
    for name in files:
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes(), name


def test_the_budget_of_figure_5_is_one_of_table_7():
    allowances = {published.BUDGETS[key].allowance for _, key, _ in published.table_7()}

    assert published.BUDGETS[published.FIGURE_5].allowance in allowances
    assert len(allowances) == 7
    assert published.FIXED == ("2", "0.5")
    assert PrivacyBudget(exp_epsilon="2", delta="0.5").allowance == 2
