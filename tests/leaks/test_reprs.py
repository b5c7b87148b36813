"""A repr never shows the log: not in a notebook, a log line, or a traceback with locals."""

import io
import logging
import traceback
from dataclasses import replace

import polars as pl
import pytest

import slogan

SECRETS = ("zebra-secret", "hidden.example", "user-4711")
ROWS = [
    *(
        (f"user-{4711 + n}", "zebra-secret shared", "hidden.example/a", 1 + n % 3)
        for n in range(60)
    ),
    *((f"user-{4711 + n}", f"zebra-secret {n % 5}", "hidden.example/b", 2) for n in range(60)),
]
LOOSE = slogan.PrivacyBudget(epsilon=8, delta="0.01")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("reprs") / "clicks.tsv"
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def frame(file):
    return pl.read_csv(file, separator="\t")


def things(file, frame, folder):
    """One object of every public class that holds a log, or something made from one."""
    log = slogan.read(frame)
    budget = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    ledger = slogan.Ledger.open("people", folder / "people.ledger")
    ledger.create()
    with (
        slogan.sanitize(log, budget, solver="exact") as sanitized,
        slogan.sanitize(log, LOOSE, counts="private", ledger=ledger) as private,
        slogan.synthesize(log, LOOSE, accept_weak_privacy=True) as synthetic,
    ):
        saved = sanitized.save(folder / "release")
        yield from (log, slogan.read(file), sanitized, private, synthetic, saved)
        yield from (release.summary for release in (sanitized, private, synthetic))
        yield from (release.job for release in (sanitized, private, synthetic))
        yield from (sanitized.counted, sanitized.output, sanitized.constraints, sanitized.plan)
        yield from (sanitized.solution, sanitized.program, synthetic.statistics)
        yield from (ledger, ledger.books(), budget, slogan.inspect(log))
        yield slogan.verify(log, folder / "release")
        yield slogan.evaluate(log, folder / "release")
        yield slogan.frontier(log, on_log=True, exp_epsilons=["2"], deltas=["0.5"], solver="exact")
        yield slogan.advise(log)
        yield slogan.audit(log, LOOSE, trials=100, seed=1)


def shown(thing):
    """Everything a person could see of an object without asking for its parts."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    logger = logging.getLogger("reprs")
    logger.addHandler(handler)
    logger.warning("%s %r", thing, thing)
    logger.removeHandler(handler)
    try:
        raise ZeroDivisionError  # with the object among the locals
    except ZeroDivisionError as error:
        captured = traceback.TracebackException.from_exception(error, capture_locals=True)
    html = getattr(thing, "_repr_html_", lambda: "")()
    return "\n".join([repr(thing), str(thing), lines.getvalue(), html, *captured.format()])


def test_no_public_object_shows_the_log(file, frame, tmp_path):
    for thing in things(file, frame, tmp_path):
        text = shown(thing)
        kind = type(thing).__name__
        assert not [secret for secret in SECRETS if secret in text], kind
        assert len(repr(thing)) < 400, kind


def test_this_test_would_notice(frame):
    assert any(secret in shown(frame) for secret in SECRETS)


@pytest.mark.parametrize(
    "kind", ["Evaluation", "Frontier", "Verdict", "SanitizedSummary", "Inspection"]
)
def test_notebooks_get_tables(kind):
    assert callable(getattr(slogan, kind)._repr_html_)


def test_tables_for_notebooks_are_escaped():
    from slogan.manifest.certificate import html_table
    from slogan.verification.conditions import Check, Verdict

    hostile = Check(name="<script>", ok=False, detail="<img onerror=1>")
    text = Verdict(checks=(hostile, replace(hostile, ok=True)))._repr_html_()
    assert "<script>" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in html_table(("<b>",), [("<script>",)], note="<i>")
