"""Attacks on a whole verb, from the log's files to the public ones: coupled replay, and its noise.

`neighbours` writes the logs, `replay` runs the verb on two of them, and `noise` tests the noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from slogan.auditor import Attack, Claim
from slogan.auditor.neighbours import Experiment, hostile, on_disk, planted
from slogan.auditor.noise import (
    Drawn,
    at_all_sizes,
    drawn,
    has_law,
    repeated,
    same_source,
    unaccounted,
)
from slogan.auditor.one_pair import OneDraw, RecordingOne, ReplayOne, on_noise
from slogan.auditor.replay import Recording, Replay
from slogan.auditor.transcript import PartedError, Transcript
from slogan.engines.engine import Engine
from slogan.histogram import PairHistogram
from slogan.logs.searchlog import SearchLog
from slogan.progress import Steps
from slogan.randomness import Randomness, SeededRandomness
from slogan.release.base import Release
from slogan.storage.folders import scratch_folder

Verb = Callable[[SearchLog, int | None], Release]
"""Makes a release of a log, with a seed or without."""

_WHOLE = "whole release"


@dataclass(frozen=True, kw_only=True)
class WholeVerb:
    """A verb under attack, and its claim."""

    verb: Verb
    selector: str
    claim: Claim
    rng: Randomness
    steps: Steps
    one: bool = False
    """Whether one pair of each user counts."""

    def attacked(self, log: SearchLog, host: Engine, hist: PairHistogram) -> Iterator[Attack]:
        """Replay the verb on neighbours of the log, and test the noise of two more runs."""
        if log.addresses:
            yield self._replayed(_WHOLE, "not replayed: no files on this machine", ok=True)
            return
        host.id_kind(fresh=True)  # raises the error that the verb would raise
        with scratch_folder() as folder:
            files = on_disk(log, folder)
            experiment = planted(files, host, hist, _made(folder / "planted"), one=self.one)
            try:
                with self.steps.step("noise"):
                    yield from self._noise(experiment)
                yield from self._replays(experiment, files, folder)
                if log.format != "parquet":
                    lines = hostile(files, host, hist, _made(folder / "hostile"))
                    yield from self._replays(lines, files, folder)
            except PartedError as parted:
                yield self._replayed(parted.target, "recorded run", ok=False)

    def _recorded(self, experiment: Experiment, seed: int | None) -> Transcript:
        """A run on the larger log; without a seed, all draws come from the verb's own source."""
        users = np.array([neighbour.user for neighbour in experiment.neighbours])
        source = None if seed is None else SeededRandomness(seed + 1)
        record = RecordingOne if self.one else Recording
        return record(users, experiment.crowd, source).run(
            partial(self.verb, experiment.log, seed), self.selector
        )

    def _replays(self, experiment: Experiment, log: SearchLog, folder: Path) -> Iterator[Attack]:
        """Replay the verb without each neighbour, with the noise of a run with all of them."""
        seed = int(self.rng.words(1)[0] >> np.uint64(12))
        with self.steps.step("record"):
            past = self._recorded(experiment, seed)
        if past.failure is not None:
            yield self._failed(past, log, seed)
            return
        if len(experiment.crowd):
            yield self._account(past)
        for n, neighbour in enumerate(experiment.neighbours, start=1):
            with self.steps.step("replay"):
                self.steps.note(f"{n} of {len(experiment.neighbours)} neighbours")
                place = _made(folder / f"{len(experiment.crowd)}-{n}")
                replay = self._replay(past, neighbour.user)
                smaller = partial(self.verb, neighbour.log(place), seed)
                differs = replay.compare(smaller, self.selector)
            for part in differs or [_WHOLE]:
                yield self._replayed(part, neighbour.name, ok=not differs)
        if not len(experiment.crowd) and not log.skip_bad_rows:
            yield self._without_skipping(experiment, past, seed)

    @staticmethod
    def _replay(past: Transcript, gone: int | None) -> Replay:
        return ReplayOne(past, gone) if isinstance(past, OneDraw) else Replay(past, gone)

    def _without_skipping(self, experiment: Experiment, past: Transcript, seed: int) -> Attack:
        """Without skipping, hostile lines stop a run or are read as they are with skipping."""
        replay, log = self._replay(past, None), replace(experiment.log, skip_bad_rows=False)
        differs = replay.compare(partial(self.verb, log, seed), self.selector)
        stopped = differs == ["exit"] and replay.seen.public == "BadRowError"
        name = "hostile lines, not skipped"
        return self._replayed(_WHOLE, name, ok=stopped or not differs)

    def _failed(self, past: Transcript, log: SearchLog, seed: int) -> Attack:
        """An attack whose planted users made the verb fail; raises if the log itself does."""
        none = np.zeros(0, dtype=np.int64)
        alone = Recording(none, none, None).run(partial(self.verb, log, seed), self.selector)
        if alone.failure is not None and alone.public == past.public:
            raise alone.failure
        return self._replayed("exit", "all planted users", ok=False)

    def _account(self, past: Transcript) -> Attack:
        """Check that the noise of each stage has the variance of the account."""
        if isinstance(past, OneDraw):
            missing = {stage.name for stage in past.account if not past.accounted(stage)}
        else:
            missing = unaccounted(past)
        target = f"noise for {', '.join(sorted(missing))}" if missing else "noise of all stages"
        row = self._replayed(target, "the account's stages", ok=not missing)
        return replace(row, evidence="account")

    def _noise(self, experiment: Experiment) -> list[Attack]:
        """Test the noise of two runs with the verb's own source, and of stages for all sums."""
        runs = [self._recorded(experiment, None) for _ in range(2)]
        of_one = [run for run in runs if isinstance(run, OneDraw)]
        if of_one:
            return [*on_noise(of_one, self.claim, self.rng), *self._on_ids(runs)]
        of_runs = [drawn(seen) for seen in runs]
        everything = [noise for noises in of_runs for noise in noises]
        by_stage: dict[str, list[Drawn]] = {}
        for noise in everything:
            by_stage.setdefault(noise.name.partition(",")[0], []).append(noise)
        for name, stage in runs[0].stages.items():
            by_stage.setdefault(name, []).extend(at_all_sizes(name, stage, self.rng))
        again = repeated(everything)
        rows = [
            ("all noise", "drawn twice", sum(len(n.values) for n in everything), not again),
            *(
                (
                    f"noise for {name}",
                    "its law",
                    sum(len(n.values) for n in noises),
                    _lawful(noises),
                )
                for name, noises in by_stage.items()
            ),
        ]
        made = [Attack.by_noise(*row[:3], self.claim, ok=row[3]) for row in rows]
        return [*made, *self._on_ids(runs)]

    def _on_ids(self, runs: list[Transcript]) -> list[Attack]:
        """Test whether user-IDs, or the random source, are the same in two runs."""
        shared = len(set(runs[0].names) & set(runs[1].names))
        known = 2 * shared > min(len(seen.names) for seen in runs) > 0
        rows = (
            ("user-IDs", "drawn twice", len(runs[0].names), not known),
            ("random source", "read twice", 2, not same_source()),
        )
        return [Attack.by_noise(*row[:3], self.claim, ok=row[3]) for row in rows]

    def _replayed(self, target: str, canary: str, *, ok: bool) -> Attack:
        return Attack.by_replay(target, canary, self.claim, ok=ok)


def _lawful(noises: list[Drawn]) -> bool:
    """Whether each draw, and all together, have the law."""
    whole = Drawn(
        name="",
        values=np.concatenate([noise.values for noise in noises]),
        step=max(noise.step for noise in noises),
        pairs=None,
    )
    return all(map(has_law, noises)) and has_law(whole)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder
