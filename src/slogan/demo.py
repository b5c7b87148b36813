"""demo(): a recognisable person in a made-up log, an attack, a release, and the attack again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slogan import objectives
from slogan.audit.certificate import verify
from slogan.databases import connected
from slogan.detection import plain_glob
from slogan.evaluation import evaluate
from slogan.generate import generate
from slogan.pipeline import sanitize
from slogan.privacy import PrivacyBudget
from slogan.rows import literal
from slogan.stages import Watcher, silent
from slogan.synthesizing import synthesize

PERSON = "999042"
# The person is invented, and so are the names of family, town and firm.
_TRACES = (
    ("thea quillfeather", "www.quillfeather-family.com", 3),
    ("quillfeather upholstery larkmoor", "www.quillfeather-upholstery.com", 4),
    ("landscapers in larkmoor hollow", "www.larkmoor-directory.com", 2),
    ("larkmoor hollow church choir", "www.larkmoor-choir.org", 1),
)
_SECRETS = (
    ("hand tremors early signs", "www.symptom-answers.com", 5),
    ("how to tell family about diagnosis", "www.talk-it-over.org", 2),
    ("lawyer leaving husband quietly", "www.quiet-legal-help.com", 3),
)
_KNOWN = ("quillfeather", "larkmoor")
_SHARED_PAIRS = 6
_KNOWN_CLICKS = 3
_SECONDS_PER_PROBLEM = 4.0


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


def demo(
    folder: Path, *, users: int = 2_500, seed: int = 0, watcher: Watcher = silent
) -> dict[str, Any]:
    """Tell the whole story; everything it writes is in `folder`."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "clicks.tsv"
    watcher("generate", f"{users:,} users")
    generate(log, users=users, seed=seed)
    known = _plant(log)
    budget = PrivacyBudget(exp_epsilon="2", delta="0.5")
    releases = [_released(name, log, folder, budget, known, watcher) for name in objectives.names()]
    return {
        "log": str(log),
        "person": PERSON,
        "knows": list(_KNOWN),
        "secrets": [query for query, _, _ in _SECRETS],
        "raw": _told(_attack(log, known)),
        "exp_epsilon": 2.0,
        "delta": 0.5,
        "releases": releases,
        "synthetic": _synthesized(log, folder, known, watcher),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _released(
    objective: str,
    log: Path,
    folder: Path,
    budget: PrivacyBudget,
    known: list[tuple[str, str]],
    watch: Watcher,
) -> dict[str, Any]:
    target = folder / f"release-{objective}"
    release = sanitize(
        log,
        budget,
        objective=objectives.load(objective)(),
        time_limit=_SECONDS_PER_PROBLEM,
        watcher=lambda stage, note: watch(objective, f"{stage} {note}"),
    )
    try:
        done = release.save(target, force=True)
    finally:
        release.close()
    watch(objective, "verify and measure")
    told = ("clicks_in", "clicks_out", "pairs_out", "users_out", "value", "bound", "gap", "release")
    return {
        "objective": objective,
        **{name: done[name] for name in told},
        "verified": verify(log, target).ok,
        "measures": measures(log, target),
        "attack": _told(_attack(target / "public" / "log.tsv", known)),
    }


def _synthesized(
    log: Path, folder: Path, known: list[tuple[str, str]], watch: Watcher
) -> dict[str, Any]:
    target = folder / "release-synthetic"
    budget = PrivacyBudget(epsilon="1", delta="1e-6")
    release = synthesize(
        log, budget, watcher=lambda stage, note: watch("synthesize", f"{stage} {note}")
    )
    try:
        done = release.save(target, force=True)
    finally:
        release.close()
    watch("synthesize", "verify and measure")
    told = ("epsilon", "delta", "clicks_out", "pairs_out", "users_out", "coverage", "release")
    return {
        **{name: done[name] for name in told},
        "verified": verify(log, target).ok,
        "measures": measures(log, target),
        "attack": _told(_attack(target / "public" / "log.tsv", known)),
    }


def measures(log: Path, release: Path) -> dict[str, Any]:
    """Measure a release, show all figures in its curator's report, and tell the first few."""
    found = evaluate(log, release)
    found.save(release)
    told = found.summary()
    return {**_headlines(told), "yardstick": _headlines(told["yardstick"])}


def _headlines(found: dict[str, Any]) -> dict[str, float | None]:
    return {
        "precision": found["precision"],
        "recall": found["recall"],
        "hit_at_10": found["also_clicked"]["hit_at_10"],
    }


def _plant(log: Path) -> list[tuple[str, str]]:
    """Add the person to the log: own traces and secrets, and some of everybody's clicks."""
    with connected() as sql:
        popular: list[tuple[str, str]] = sql.execute(
            f"""SELECT query, url FROM {_rows(log)} GROUP BY query, url
                ORDER BY count(*) DESC, query, url LIMIT {_SHARED_PAIRS}"""
        ).fetchall()
    shared = [(query, url, 2) for query, url in popular]
    with log.open("a") as rows:
        for query, url, clicks in (*_TRACES, *_SECRETS, *shared):
            rows.write(f"{PERSON}\t{query}\t{url}\t{clicks}\n")
    return [*popular[-_KNOWN_CLICKS:], _TRACES[0][:2]]


def _attack(log: Path, known: list[tuple[str, str]]) -> Attack:
    named = " OR ".join(f"query LIKE '%{word}%'" for word in _KNOWN)
    secrets = ", ".join(f"'{query}'" for query, _, _ in _SECRETS)
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


def _told(attack: Attack) -> dict[str, Any]:
    return {
        "named_users": attack.named_users,
        "secrets_found": attack.secrets_found,
        "linked_users": attack.linked_users,
        "succeeds": attack.succeeds,
    }
