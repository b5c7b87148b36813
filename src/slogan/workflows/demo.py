"""demo(): a recognisable person in a made-up log, an attack, releases, and the attack again."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.budget import PrivacyBudget, exact
from slogan.generation.generate import generate
from slogan.logs.files import plain_glob
from slogan.logs.rows import literal
from slogan.manifest.uses import Uses, declared_uses
from slogan.measures import Results
from slogan.measures.association import ALSO_CLICKED
from slogan.measures.supports import SUPPORTS
from slogan.progress import Progress, shown
from slogan.release.base import Saved
from slogan.storage.atomic import check_outside_releases
from slogan.storage.database import connected
from slogan.verification.verify import verify
from slogan.workflows.evaluate import evaluate, read_manifest
from slogan.workflows.sanitize import sanitize
from slogan.workflows.synthesize import synthesize

PERSON = "999042"
# The person is invented, and so are the names of family, town and firm.
_TRACES = (
    ("thea quillfeather", "www.quillfeather-family.com", 3),
    ("quillfeather upholstery larkmoor", "www.quillfeather-upholstery.com", 4),
    ("landscapers in larkmoor hollow", "www.larkmoor-directory.com", 2),
    ("larkmoor hollow church choir", "www.larkmoor-choir.org", 1),
)
_SECRET_CLICKS = (
    ("hand tremors early signs", "www.symptom-answers.com", 5),
    ("how to tell family about diagnosis", "www.talk-it-over.org", 2),
    ("lawyer leaving husband quietly", "www.quiet-legal-help.com", 3),
)
SECRETS = tuple(query for query, _, _ in _SECRET_CLICKS)
"""What the attacker must not learn."""
KNOWN = ("quillfeather", "larkmoor")
"""What the attacker knows of the person."""
_SHARED_PAIRS = 6
_KNOWN_CLICKS = 3
# The solver that needs no compiled loops: they take longer to compile than the rest of the demo.
_SOLVER = "relaxed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What someone learns who knows the person's surname and town, and a few harmless clicks."""

    named_users: int
    """Users whose queries mention the surname or the town."""
    secrets_found: int
    """Sensitive queries of the person seen together with the name."""
    linked_users: int
    """Users who hold all of the harmless clicks the attacker knows of."""

    @property
    def succeeds(self) -> bool:
        """Whether the person is found by name or by the known clicks."""
        return self.named_users > 0 or self.linked_users == 1

    def to_dict(self) -> dict[str, Any]:
        """One attack in `demo --json`."""
        return {**asdict(self), "succeeds": self.succeeds}


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What a release keeps: a few of its measures."""

    precision: float | None
    recall: float | None
    hit_at_10: float | None


@dataclass(frozen=True, kw_only=True)
class ReleaseStory:
    """One release: whether it was verified, what an attack finds, and what it keeps."""

    objective: str | None
    """None for synthetic users."""
    saved: Saved
    verified: bool
    attack: Attack
    kept: Utility
    sample: Utility
    """The same of a random sample of the same size."""
    uses: Uses
    """What the release is good for, and what it is not for."""

    def to_dict(self) -> dict[str, Any]:
        """One release in `demo --json`."""
        names = ("clicks_in", "clicks_out", "pairs_out", "users_out", "value", "bound", "gap")
        if self.objective is None:
            names = ("epsilon", "delta", "clicks_out", "pairs_out", "users_out", "coverage")
        summary = self.saved.summary.to_dict()
        return {
            **({} if self.objective is None else {"objective": self.objective}),
            **{name: summary[name] for name in names},
            "release": str(self.saved.folder),
            "verified": self.verified,
            "measures": {**asdict(self.kept), "yardstick": asdict(self.sample)},
            "uses": self.uses.to_dict(),
            "attack": self.attack.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class Story:
    """A made-up log with a recognisable person in it, releases of it, and attacks on them all."""

    log: Path
    budget: PrivacyBudget
    raw: Attack
    releases: tuple[ReleaseStory, ...]
    synthetic: ReleaseStory
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The fields of `demo --json`."""
        return {
            "log": str(self.log),
            "person": PERSON,
            "knows": list(KNOWN),
            "secrets": list(SECRETS),
            "raw": self.raw.to_dict(),
            "exp_epsilon": float(exact(self.budget.exp_epsilon or 0)),
            "delta": self.budget.delta_value,
            "releases": [release.to_dict() for release in self.releases],
            "synthetic": self.synthetic.to_dict(),
            "seconds": round(self.seconds, 1),
        }


def demo(
    folder: Path, *, users: int = 2_500, seed: int = 0, progress: Progress | bool | None = None
) -> Story:
    """Generate a log, release made-up users and real rows of it, and attack log and releases."""
    start = time.perf_counter()
    check_outside_releases(folder / "clicks.tsv")
    folder.mkdir(parents=True, exist_ok=True)
    log, budget = folder / "clicks.tsv", PrivacyBudget(exp_epsilon="2", delta="0.5")
    with shown(progress) as on_progress:
        generate(log, users=users, seed=seed, progress=on_progress)
        known = _plant(log)
        step = _within(on_progress, "synthesize")
        with synthesize(log, epsilon="1", delta="1e-6", progress=step) as release:
            saved = release.save(folder / "release-synthetic", force=True)
        step("verify and measure")
        synthetic = _story(None, log, saved, known)
        step = _within(on_progress, "sanitize")
        with sanitize(log, budget, solver=_SOLVER, progress=step) as release:
            saved = release.save(folder / "release-real-rows", force=True)
        step("verify and measure")
        real = _story(release.objective, log, saved, known)
    return Story(
        log=log,
        budget=budget,
        raw=_attack(log, known),
        releases=(real,),
        synthetic=synthetic,
        seconds=time.perf_counter() - start,
    )


def _within(progress: Progress, name: str) -> Progress:
    """Show the steps of one release under its name."""

    def show(step: str, note: str = "", share: float | None = None) -> None:
        progress(name, f"{step} {note}".strip(), share)

    return show


def _story(
    objective: str | None, log: Path, saved: Saved, known: list[tuple[str, str]]
) -> ReleaseStory:
    """Verify, measure and attack a release; all measures go to its curator's report."""
    evaluation = evaluate(log, saved.folder)
    evaluation.save(saved.folder)
    return ReleaseStory(
        objective=objective,
        saved=saved,
        verified=verify(log, saved.folder).ok,
        attack=_attack(saved.folder / "public" / "log.tsv", known),
        kept=_utility(evaluation.release),
        sample=_utility(evaluation.yardstick),
        uses=declared_uses(read_manifest(saved.folder)).decided_by(evaluation.uses),
    )


def _utility(results: Results) -> Utility:
    first = results[SUPPORTS].first
    hits = results[ALSO_CLICKED].hit_at_10
    return Utility(precision=first.precision, recall=first.recall, hit_at_10=hits)


def _plant(log: Path) -> list[tuple[str, str]]:
    """Add the person to the log: own traces and secrets, and some popular clicks."""
    with connected() as sql:
        popular: list[tuple[str, str]] = sql.execute(
            f"""SELECT query, url FROM {_rows(log)} GROUP BY query, url
                ORDER BY count(*) DESC, query, url LIMIT {_SHARED_PAIRS}"""
        ).fetchall()
    shared = [(query, url, 2) for query, url in popular]
    with log.open("a") as rows:
        for query, url, clicks in (*_TRACES, *_SECRET_CLICKS, *shared):
            rows.write(f"{PERSON}\t{query}\t{url}\t{clicks}\n")
    return [*popular[-_KNOWN_CLICKS:], _TRACES[0][:2]]


def _attack(log: Path, known: list[tuple[str, str]]) -> Attack:
    named = " OR ".join(f"query LIKE '%{word}%'" for word in KNOWN)
    secrets = ", ".join(f"'{query}'" for query in SECRETS)
    with connected() as sql:
        sql.execute(f"CREATE TABLE log AS SELECT * FROM {_rows(log)}")
        sql.execute("CREATE TABLE known (query VARCHAR, url VARCHAR)")
        sql.executemany("INSERT INTO known VALUES (?, ?)", known)
        sql.execute(f"""CREATE TABLE named AS SELECT DISTINCT "user" FROM log WHERE {named}""")
        users, found = sql.execute(
            f"""SELECT (SELECT count(*) FROM named), (SELECT count(DISTINCT query) FROM log
                JOIN named USING ("user") WHERE query IN ({secrets}))"""
        ).fetchall()[0]
        linked = sql.execute(
            f"""SELECT count(*) FROM (SELECT "user" FROM log JOIN known USING (query, url)
                GROUP BY "user" HAVING count(*) = {len(known)})"""
        ).fetchall()[0][0]
    return Attack(named_users=users, secrets_found=found, linked_users=linked)


def _rows(log: Path) -> str:
    return (
        f"read_csv({literal(plain_glob(log))}, delim='\t', quote='', escape='', header=true, "
        "auto_detect=false, hive_partitioning=false, "
        "columns={'user': 'VARCHAR', 'query': 'VARCHAR', 'url': 'VARCHAR', 'count': 'BIGINT'})"
    )
