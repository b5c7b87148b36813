"""compare(): releases side by side, and which one is better at what."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from slogan.budget import Number, PrivacyBudget, at_most, exact
from slogan.engines import EngineSettings
from slogan.errors import LogFormatError, OptionError
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.certificate import CURATOR_ONLY, html_table
from slogan.manifest.strictness import strictness_of
from slogan.manifest.uses import Use, Uses
from slogan.measures import all_measures
from slogan.measures.headlines import GROUPS, Better, Group, Headline
from slogan.modes import ReleaseKind
from slogan.progress import Progress
from slogan.storage.untrusted import modest
from slogan.workflows.evaluate import evaluate, read_manifest

RE_ROLL = (
    "Choosing one of several releases of the same log by looking at them costs privacy. Their "
    "budgets add up, so record every one of them in the ledger (--population)."
)

_CLEAR = 0.05
"""Smaller relative differences are not called better in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One of the compared releases: what it is, how strict it is, and what it is good for."""

    release: str
    """Its folder."""
    kind: ReleaseKind
    epsilon: str
    delta: str
    protection: str
    uses: Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMeasure:
    """One measure of all releases, in their order."""

    label: str
    task: str
    """What the measure decides; empty if nothing."""
    group: Group
    better: Better
    values: tuple[float | None, ...]
    texts: tuple[str, ...]

    @property
    def best(self) -> tuple[int, ...]:
        """Positions of the best releases; empty if all are the same, or neither way is better."""
        known = [value for value in self.values if value is not None]
        if not self.better or len(set(known)) < 2:
            return ()
        top = max(known) if self.better == "higher" else min(known)
        return tuple(n for n, value in enumerate(self.values) if value == top)

    @property
    def winner(self) -> int | None:
        """The position of the release that is clearly better than every other one, if any is."""
        if len(self.best) != 1 or None in self.values:
            return None
        (winner,) = self.best
        top = self.values[winner] or 0.0
        others = [value or 0.0 for n, value in enumerate(self.values) if n != winner]
        clear = all(abs(top - other) > _CLEAR * max(abs(top), abs(other)) for other in others)
        return winner if clear else None


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseComparison:
    """Releases side by side. The measures depend on the log: they are for the curator only."""

    releases: tuple[Compared, ...]
    measures: tuple[ComparedMeasure, ...]
    same_log: bool
    """Whether all evaluations are against a log of the same size."""

    @property
    def words(self) -> list[str]:
        """Which release is stricter, and which is better at what."""
        lines = [self._strictest()]
        for n, one in enumerate(self.releases):
            wins = [measure.task for measure in self.measures if measure.winner == n]
            better = "; ".join(dict.fromkeys(filter(None, wins))) or "nothing by more than 5%"
            lines.append(f"{one.release} is better at: {better}.")
        if not self.same_log:
            lines.append("The releases were evaluated against different logs: compare with care.")
        return [*lines, RE_ROLL]

    def _strictest(self) -> str:
        strict = [
            f"{r.release}: {r.protection} (ε = {r.epsilon}, δ = {r.delta})" for r in self.releases
        ]
        return f"Privacy. {'; '.join(strict)}."

    def to_dict(self) -> dict[str, Any]:
        """The fields of `evaluate --json` for several releases."""
        return {
            "releases": [asdict(one) for one in self.releases],
            "measures": [
                {
                    "label": one.label,
                    "group": one.group,
                    "better": one.better or None,
                    "values": list(one.values),
                    "best": [self.releases[n].release for n in one.best],
                }
                for one in self.measures
            ],
            "same_log": self.same_log,
            "words": self.words,
        }

    def __repr__(self) -> str:
        return f"<ReleaseComparison of {len(self.releases)} releases>"

    def _repr_html_(self) -> str:
        headings = ("", *(one.release for one in self.releases))
        rows = ((measure.label, *measure.texts) for measure in self.measures)
        return html_table(headings, rows, note=f"{' '.join(self.words)} {CURATOR_ONLY}")


def compare(
    *releases: str | Path,
    log: SearchLog | Source | None = None,
    min_support: Sequence[Number] | Number | None = None,
    samples: int = 10,
    seed: int = 0,
    engine: str | EngineSettings = "duckdb",
    progress: Progress | bool | None = None,
) -> ReleaseComparison:
    """Compare saved releases measure by measure. The figures are for the curator.

    Args:
        releases: The folders of two or more releases.
        log: The log. Without it, the figures that `evaluate()` saved in each folder are compared.
        min_support: As for `evaluate()`.
        samples: As for `evaluate()`.
        seed: As for `evaluate()`.
        engine: As for `evaluate()`.
        progress: As for `evaluate()`.
    """
    folders = [Path(release) for release in releases]
    if len(folders) < 2 or len({folder.resolve() for folder in folders}) < len(folders):
        raise OptionError(
            "a comparison needs two or more different releases", hint="slogan evaluate LOG A B"
        )
    found: list[_Saved] = []
    for folder in folders:
        if log is not None:
            evaluation = evaluate(
                log,
                folder,
                min_support=min_support,
                samples=samples,
                seed=seed,
                engine=engine,
                progress=progress,
            )
            if (folder / "curator" / "certificate.json").is_file():
                evaluation.save(folder)
            found.append(_parsed(json.dumps(evaluation.to_dict()).encode(), folder))
        else:
            found.append(_saved(folder))
    labels = {headline.label for one in found for headline in one.headlines}
    lines = [line for m in all_measures() for line in m.headlines if line.label in labels]
    return ReleaseComparison(
        releases=tuple(_compared(*both) for both in zip(folders, found, strict=True)),
        measures=tuple(
            _measure(line, found)
            for line in sorted(lines, key=lambda line: GROUPS.index(line.group))
        ),
        same_log=all(one.log == found[0].log for one in found),
    )


@dataclass(frozen=True, slots=True)
class _SavedLog:
    clicks: int
    users: int
    pairs: int


@dataclass(frozen=True, slots=True)
class _SavedHeadline:
    label: str
    release: float | None


@dataclass(frozen=True, slots=True)
class _SavedUses:
    good_for: list[Use]
    partly: list[Use]
    not_for: list[Use]


@dataclass(frozen=True, slots=True)
class _Saved:
    """The part of evaluation.json that is compared."""

    log: _SavedLog
    headlines: list[_SavedHeadline]
    uses: _SavedUses


_FILE = TypeAdapter(_Saved)


def _saved(folder: Path) -> _Saved:
    file = folder / "curator" / "evaluation.json"
    try:
        return _parsed(modest(file), folder)
    except OSError:
        raise OptionError(
            f"{folder} has not been evaluated",
            hint=f"give the log too: slogan evaluate LOG {folder} …",
        ) from None


def _parsed(text: bytes, folder: Path) -> _Saved:
    try:
        return _FILE.validate_json(text)
    except ValidationError:  # it quotes what it read
        raise LogFormatError(
            f"{folder}/curator/evaluation.json is not an evaluation of this version",
            hint=f"evaluate it again: slogan evaluate LOG {folder}",
        ) from None


def _compared(folder: Path, found: _Saved) -> Compared:
    manifest = read_manifest(folder)
    budget = PrivacyBudget(**manifest.budget.model_dump())
    return Compared(
        release=str(folder),
        kind=manifest.kind,
        epsilon=at_most(budget.epsilon_at_most),
        delta=at_most(exact(budget.delta), 6),
        protection=strictness_of(manifest).name,
        uses=Uses(
            good_for=tuple(found.uses.good_for),
            partly=tuple(found.uses.partly),
            not_for=tuple(found.uses.not_for),
        ),
    )


def _measure(line: Headline[Any], found: Sequence[_Saved]) -> ComparedMeasure:
    values = tuple(
        next((one.release for one in saved.headlines if one.label == line.label), None)
        for saved in found
    )
    whole = line.form.endswith("d")
    texts = tuple(line.written(None if v is None else int(v) if whole else v) for v in values)
    return ComparedMeasure(
        label=line.label,
        task=line.task.name if line.task else "",
        group=line.group,
        better=line.better,
        values=values,
        texts=texts,
    )
