"""Three ways to counts: does each release say what it is, and does verify catch what it is not?"""

import json
import re
import shutil
from contextlib import closing

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import write, write_pages

import slogan
from slogan import errors
from slogan.cli.app import app
from slogan.manifest.manifest import Manifest
from slogan.planning import objectives
from slogan.planning.objectives.diversity import filled
from slogan.verification.verify import verify

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
NOISY = [name for name in objectives.names() if not objectives.load(name).exact_only]
LARGE = slogan.PrivacyBudget(epsilon=4, delta="0.5")
LAPLACE = slogan.LaplaceCounts(bound=2, epsilon=4)
HEAVY = "heavy"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A log with a user who sways the counts, and one whose pairs everybody holds."""
    folder = tmp_path_factory.mktemp("logs")
    few = [(f"u{k}", f"zebra {j}", f"z{j}.example", 1) for k in range(30) for j in range(3)]
    many = [(f"u{k}", f"zebra {k % 2}", f"z{k % 2}.example", 1 + k % 3) for k in range(600)]
    swayed = write(folder / "swayed.tsv", [*few, (HEAVY, "zebra 0", "z0.example", 25)])
    return swayed, write(folder / "popular.tsv", [*many, ("u0", "only mine", "m.example", 4)])


def released(log, folder, budget, **options):
    with closing(slogan.sanitize(log, budget, time_limit=5, **options)) as release:
        return release.save(folder).to_dict()


@pytest.fixture(scope="module")
def made(logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    swayed, popular = logs
    summary = {
        "laplace": released(swayed, folder / "laplace", BUDGET, counts=LAPLACE),
        "private": released(popular, folder / "private", LARGE, counts=slogan.PrivateCounts()),
    }
    return folder, summary


@pytest.fixture
def copy(made, tmp_path):
    """A copy of a release that may be tampered with."""

    def copied(name):
        return shutil.copytree(made[0] / name, tmp_path / name)

    return copied


def failed(log, folder):
    return {check.name for check in verify(log, folder).checks if not check.ok}


def edit(folder, change):
    """Change the manifest as a careful forger would: the report agrees with it."""
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))
    write_pages(folder / "public", Manifest.model_validate_json(file.read_bytes()))


# --- laplace ---


def test_a_user_who_sways_the_counts_is_removed_and_never_shown(made):
    folder, summary = made
    table = duckdb.sql(f"FROM '{folder}/laplace/curator/removed.parquet'").fetchall()
    names = duckdb.sql(f"FROM '{folder}/laplace/curator/pseudonyms.parquet'").fetchall()

    assert table == [(HEAVY,)]
    assert summary["laplace"]["users_removed"] == 1
    assert HEAVY not in {user for user, _ in names}


def test_a_heuristic_is_called_one_wherever_it_is_described(made, capsys):
    public = made[0] / "laplace/public"
    manifest = json.loads((public / "manifest.json").read_text())

    assert manifest["counts"] == "laplace"
    assert "heuristic without an end-to-end proof" in manifest["promise"]
    assert "heuristic" in manifest["not_guaranteed"][0]
    assert "heuristic" in (public / "report.html").read_text()
    assert manifest["parameters"]["laplace_bound"] == "2"
    app.meta(["sanitize", "--help"])
    assert "HEURISTIC" in capsys.readouterr().out


def test_verify_accepts_an_honest_laplace_release(logs, made):
    assert failed(logs[0], made[0] / "laplace") == set()


def test_verify_needs_the_table_of_removed_users(logs, copy):
    folder = copy("laplace")
    (folder / "curator/removed.parquet").unlink()

    assert {"removed_users", "condition_2", "condition_3"} <= failed(logs[0], folder)


def test_a_shown_user_cannot_be_listed_as_removed(logs, copy):
    folder = copy("laplace")
    names = duckdb.sql(f"FROM '{folder}/curator/pseudonyms.parquet'").fetchall()
    duckdb.sql(f"COPY (SELECT '{names[0][0]}' AS \"user\") TO '{folder}/curator/removed.parquet'")

    assert "users_from_log" in failed(logs[0], folder)


def test_unknown_users_cannot_be_listed_as_removed(logs, copy):
    folder = copy("laplace")
    table = folder / "curator/removed.parquet"
    duckdb.sql(f"COPY (SELECT unnest(['{HEAVY}', 'unknown']) AS \"user\") TO '{table}'")

    assert failed(logs[0], folder) == {"removed_users"}


def test_a_laplace_release_cannot_pass_for_an_exact_one(logs, copy):
    folder = copy("laplace")
    edit(folder, lambda manifest: manifest.update(counts="exact"))

    assert "words" in failed(logs[0], folder)


def test_a_tiny_bound_removes_every_user(logs):
    with pytest.raises(errors.NothingLeftError, match="removed"):
        slogan.sanitize(logs[0], BUDGET, counts=slogan.LaplaceCounts(bound="1/1000", epsilon=1))


@pytest.mark.parametrize("name", NOISY)
def test_every_objective_has_noisy_counts(tmp_path, name):
    # Of 28 pairs about half get a positive count: all of them miss it once in 10^7 runs.
    rows = [(f"u{k}", f"zebra {j}", f"z{j}.example", 1) for k in range(30) for j in range(28)]
    log = write(tmp_path / "even.tsv", rows)
    mode, objective = slogan.LaplaceCounts(bound=20, epsilon=3), objectives.load(name)()
    summary = released(log, tmp_path / "out", BUDGET, counts=mode, objective=objective)

    assert 0 < summary["clicks_out"] <= summary["size_bound"]
    assert verify(log, tmp_path / "out").ok


# --- private ---


def test_verify_accepts_an_honest_private_release(logs, made):
    folder, summary = made

    assert failed(logs[1], folder / "private") == set()
    assert (
        summary["private"]["exposed_users_expected"] <= summary["private"]["exposed_users_at_most"]
    )
    assert summary["private"]["exposed_users_at_most"] < 0.5 * 601


def test_nothing_in_public_depends_on_who_else_is_in_the_log(made):
    """Exposure and raw sizes are for the curator; in public there is δ and what it means."""
    public = made[0] / "private/public"
    manifest = json.loads((public / "manifest.json").read_text())
    report = (public / "report.html").read_text()
    raw = made[1]["private"]
    told = json.dumps({**manifest, "outputs": None, "account": None})  # noise may hit any number

    assert (raw["users"], raw["clicks_in"]) == (600, 1204)
    assert not re.search(r"\b(600|1204)\b", told)
    assert not re.search(r"\b1,?204\b", report)
    assert "exposed" not in told + report
    assert "at most δ = 0.5" in report


def stage_of(manifest, name):
    return next(s for s in manifest["account"]["stages"] if s["name"] == name)["parameters"]


@pytest.mark.parametrize(
    ("change", "caught"),
    [
        (lambda m: stage_of(m, "sampling").update(cap="2"), {"account", "cap", "scales"}),
        (lambda m: stage_of(m, "sampling").update(cap="1/1000"), {"cap", "scales", "rate"}),
        (lambda m: stage_of(m, "counts").update(variance="1"), {"account", "scales"}),
        (lambda m: stage_of(m, "counts").update(norm_squared="1"), {"constants", "scales"}),
        (lambda m: m["parameters"].update(sampling_share="1/3"), {"cap"}),
        (lambda m: m["parameters"].update(share_counts="1/2"), {"constants"}),
        (lambda m: m["account"]["stages"].pop(), {"constants", "cap", "scales", "rate"}),
    ],
    ids=["cap", "small cap", "noise", "norm", "share", "constants", "no sampling"],
)
def test_a_private_release_with_another_account_is_refused(logs, copy, change, caught):
    folder = copy("private")
    edit(folder, change)

    # The account no longer follows from its stages, or the file is not as slogan writes it.
    assert failed(logs[1], folder) - {"manifest_as_written"} == caught


@pytest.mark.parametrize(
    "change",
    [{"method": "synthesize"}, {"outputs": None}, {"account": None}, {"counts": "laplace"}],
)
def test_a_private_release_cannot_pass_for_another(logs, copy, change):
    folder = copy("private")
    file = folder / "public/manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    assert failed(logs[1], folder) == {"manifest"}


def test_a_stricter_budget_than_the_releases_is_refused(logs, made):
    asked = slogan.PrivacyBudget(epsilon=1, delta="0.1")
    verdict = verify(logs[1], made[0] / "private", budget=asked)

    assert {c.name for c in verdict.checks if not c.ok} == {"budget", "account"}


@pytest.mark.parametrize("pseudonyms", ["fresh", "keep"])
def test_an_empty_output_is_a_release_like_any_other(logs, tmp_path, pseudonyms):
    """With a tiny share for sampling no user is drawn; the release must not show it."""
    options = {"counts": slogan.PrivateCounts(sampling_share="1e-9"), "pseudonyms": pseudonyms}
    summary = released(logs[1], tmp_path / "out", LARGE, **options)

    assert summary["clicks_out"] == summary["users_out"] == 0
    assert (tmp_path / "out/public/log.tsv").read_text() == "user\tquery\turl\tcount\n"
    assert verify(logs[1], tmp_path / "out").ok


def test_with_too_few_users_the_error_names_the_number_needed(tmp_path):
    log = write(tmp_path / "few.tsv", [(u, "zebra", "z.example", 1) for u in range(4)])
    budget = slogan.PrivacyBudget(epsilon="0.5", delta="1e-6")
    with pytest.raises(errors.TooFewUsersError, match="users"):
        slogan.sanitize(log, budget, counts=slogan.PrivateCounts())


@pytest.mark.parametrize("solver", ["distributed", "packing"])
def test_private_counts_leave_no_choice_of_a_solver(logs, solver):
    with pytest.raises(errors.OptionError, match="no solver to choose"):
        slogan.sanitize(logs[1], LARGE, counts=slogan.PrivateCounts(), solver=solver)


@pytest.mark.parametrize("name", NOISY)
def test_every_objective_is_solved_on_private_counts(logs, name):
    options = {"counts": slogan.PrivateCounts(), "objective": objectives.load(name)()}
    with closing(slogan.sanitize(logs[1], LARGE, **options)) as release:
        assert release.summary.clicks_out > 0
        assert release.output.count.max() <= 600


private_counts = st.lists(st.floats(1, 1e6), min_size=1, max_size=8)


@pytest.mark.parametrize("name", NOISY)
@given(counts=private_counts, cap=st.floats(1e-6, 1), users=st.floats(1, 1e6))
def test_expected_clicks_are_possible_ones(name, counts, cap, users):
    c, query = np.array(counts), np.arange(len(counts)) // 2
    pairs = objectives.CappedPairs(counts=c, query=query, cap=cap, users=users)
    expected = objectives.load(name)().expected_clicks(pairs)

    assert expected.shape == c.shape
    assert (expected >= 0).all()
    assert np.isfinite(expected).all()
    assert expected.sum() > 0


@given(most=private_counts, total=st.floats(0, 1e7))
def test_filled_gives_all_alike_but_none_too_much(most, total):
    m = np.array(most)
    x = filled(m, total)
    open_ = x < m

    assert (x <= m).all()
    assert x.sum() == pytest.approx(min(total, m.sum()))
    assert not open_.any() or np.ptp(x[open_]) == 0
    assert not open_.any() or x[open_].max() >= x.max()


# --- options ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--counts", "laplace"], "needs a bound d"),
        (["--counts", "laplace", "--laplace-bound", "2"], "needs a bound d"),
        (["--counts", "laplace", "--laplace-bound", "0", "--laplace-epsilon", "1"], "above 0"),
        (["--laplace-bound", "2"], 'means nothing for counts="exact"'),
        (["--counts", "private", "--laplace-epsilon", "1"], 'means nothing for counts="private"'),
        (["--counts", "private", "--sampling-share", "1"], "between 0 and 1"),
        (["--sampling-share", "0.5"], "means nothing"),
    ],
)
def test_options_that_do_not_go_together_are_refused(logs, tmp_path, options, words):
    args = ["sanitize", str(logs[0]), "-o", str(tmp_path / "out"), "--exp-epsilon", "2"]
    with pytest.raises(errors.InputError, match=words):
        app.meta([*args, "--delta", "0.5", *options])


def test_the_command_line_and_a_configuration_reach_the_modes(logs, tmp_path, capsys):
    file = tmp_path / "slogan.toml"
    file.write_text('[sanitize]\ncounts = "private"\nepsilon = "4"\ndelta = "0.5"\n')
    app.meta(
        ["--config", str(file), "sanitize", str(logs[1]), "-o", str(tmp_path / "out"), "--json"]
    )
    told = json.loads(capsys.readouterr().out)

    assert told["counts"] == "private"
    assert told["budget_per_user"] == pytest.approx(0.28768, abs=1e-5)
