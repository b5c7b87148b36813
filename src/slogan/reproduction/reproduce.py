"""reproduce(): every table and figure of the paper's section 6 on a log, as pages."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slogan import engines, reproduction
from slogan.engines import EngineChoice
from slogan.engines.engine import Counted
from slogan.errors import OptionError
from slogan.generation.generate import generate
from slogan.histogram import LogSize
from slogan.logs.searchlog import SearchLog, Source
from slogan.progress import Progress, shown
from slogan.registry import module_names
from slogan.report.html import picture
from slogan.reproduction.laboratory import FULL, QUICK, Experiment, Laboratory, Store, digest_of
from slogan.reproduction.pages import MADE_UP, REAL, Page, markdown, table
from slogan.storage.atomic import check_outside_releases
from slogan.storage.folders import scratch_folder

USERS, SEED = 2_500, 0
"""The made-up log: as many users as the paper's sample."""

_MEANING = """\
## What the verdicts mean

- **not reachable**: a proof excludes the published value for every log of that size.
- **not excluded**: no proof here excludes it.
- **contradicts itself**: published numbers exclude each other, for any log.
- **holds here**, **does not hold here**: on this log.

We do not know how the published numbers were computed, and draw no conclusion about the paper's \
method, which rests on its proof.
"""


def experiments() -> dict[str, Experiment]:
    """The tables and figures that files of this folder export, by name, in the paper's order."""
    package = reproduction.__name__
    files = [import_module(f"{package}.{name}") for name in module_names(package)]
    exported = [e for file in files for e in getattr(file, "EXPERIMENTS", ())]
    # Within a section tables and figures come in the order of their numbers.
    return {e.name: e for e in sorted(exported, key=lambda e: (e.section, e.name[-1], e.name))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A page that was written."""

    experiment: Experiment
    file: str
    page: Page

    def to_dict(self) -> dict[str, Any]:
        """An entry of `pages` in `reproduce --json`."""
        return {
            "name": self.experiment.name,
            "section": self.experiment.section,
            "title": self.experiment.title,
            "file": self.file,
            "verdicts": [{"kind": str(v.kind), "why": v.why} for v in self.page.verdicts],
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Reproduction:
    """The written pages, and the size of the log."""

    output: Path
    made_up: bool
    quick: bool
    sizes: tuple[LogSize, LogSize]
    pages: tuple[Written, ...]
    computed: tuple[str, ...]
    """Results that had to be computed; pages share them."""
    reused: tuple[str, ...]
    """Results that were stored by an earlier run."""
    seconds: float

    def __repr__(self) -> str:
        return f"<Reproduction: {len(self.pages)} pages in {self.output}>"

    def to_dict(self) -> dict[str, Any]:
        """The fields of `reproduce --json`."""
        whole, shared = self.sizes
        return {
            "output": str(self.output),
            "made_up": self.made_up,
            "quick": self.quick,
            "log": {**asdict(whole), "shared": asdict(shared)},
            "pages": [page.to_dict() for page in self.pages],
            "computed": self.computed,
            "reused": self.reused,
            "seconds": round(self.seconds, 1),
        }


def reproduce(
    output: str | Path,
    *,
    only: Sequence[str] | None = None,
    log: SearchLog | Source | None = None,
    quick: bool = False,
    force: bool = False,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Reproduction:
    """Write a page for each table and figure, next to published values and provable bounds.

    Results that an earlier run on the same log left in the folder are not computed again.

    Args:
        output: The folder: Markdown, SVG, and the results as JSON.
        only: Such as ("table4", "figure3"); everything if not given, and then an index too.
        log: Your own log, whose pages are for its curator; a made-up one if not given.
        quick: Give each problem a fraction of the time.
        force: Compute everything again.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    with shown(progress) as on_progress:
        begin, folder = time.perf_counter(), Path(output)
        check_outside_releases(folder / "data")
        selected = _selected(only)
        on_progress("count the log", share=0.0)
        counted, sizes = _counted(log, engine)
        counted.require_shared_pairs()
        folder.mkdir(mode=0o755 if log is None else 0o700, parents=True, exist_ok=True)
        store = Store(folder / "data", digest_of(counted.hist, sizes), force=force)
        seconds, banner = QUICK if quick else FULL, MADE_UP if log is None else REAL
        lab = Laboratory(
            hist=counted.hist, sizes=sizes, seconds=seconds, store=store, progress=on_progress
        )
        written: list[Written] = []
        for n, experiment in enumerate(selected):
            lab.progress = _within(on_progress, n, len(selected), experiment.label)
            lab.progress("", share=0.0)
            written.append(_write(experiment, lab, folder, banner))
        done = Reproduction(
            output=folder,
            made_up=log is None,
            quick=quick,
            sizes=sizes,
            pages=tuple(written),
            computed=tuple(store.computed),
            reused=tuple(store.reused),
            seconds=time.perf_counter() - begin,
        )
        if only is None:
            (folder / "README.md").write_text(_index(done), encoding="utf-8")
        return done


def _selected(only: Sequence[str] | None) -> list[Experiment]:
    known = experiments()
    names = known if only is None else dict.fromkeys(only)
    for name in names:
        if name not in known:
            raise OptionError(
                f"unknown table or figure {name[:40]!r}",
                hint=f"choose one of: {', '.join(known)}",
            )
    return [known[name] for name in names]


def _counted(
    log: SearchLog | Source | None, engine: EngineChoice
) -> tuple[Counted, tuple[LogSize, LogSize]]:
    with scratch_folder() as place:
        if log is None:
            log = place / "log.parquet"
            generate(log, users=USERS, seed=SEED)
        settings = engines.resolve(engine, log)
        source = settings.describe(log)
        with closing(settings.start()) as host:
            return host.count(source), host.sizes()


def _within(progress: Progress, n: int, of: int, title: str) -> Progress:
    """Show the progress of a part as a share of the whole."""

    def show(step: str, note: str = "", share: float | None = None) -> None:
        progress(title, f"{step} {note}".strip(), (n + (share or 0.0)) / of)

    return show


def _write(experiment: Experiment, lab: Laboratory, folder: Path, banner: str) -> Written:
    page, file = experiment.page(lab), f"{experiment.label.replace(' ', '-').lower()}.md"
    for chart in page.charts:
        (folder / f"{chart.name}.svg").write_text(picture(chart), encoding="utf-8")
    text = markdown(page, title=experiment.title, banner=banner)
    (folder / file).write_text(text, encoding="utf-8")
    return Written(experiment=experiment, file=file, page=page)


def _index(done: Reproduction) -> str:
    rows = [
        [
            written.experiment.section,
            f"[{written.experiment.title}]({written.file})",
            ", ".join(dict.fromkeys(str(v.kind) for v in written.page.verdicts)),
        ]
        for written in done.pages
    ]
    shared = done.sizes[1]
    command = "slogan reproduce" + (" --quick" if done.quick else "")
    made = f"the made-up log of {USERS:,} users, seed {SEED}" if done.made_up else "a log"
    sentences = [
        f"Written by `{command}`, slogan {version('slogan')}, on {made}.",
        f"Without unique pairs it has {shared.clicks:,} clicks of {shared.users:,} users on "
        f"{shared.pairs:,} pairs.",
        "Each page shows the published values, what is provable about them, and the results on "
        "this log.",
        "The results are in `data/`; a second run computes only what is missing.",
    ]
    return "\n\n".join(
        [
            "# The paper's section 6, reproduced",
            MADE_UP if done.made_up else REAL,
            "\n".join(sentences),
            table(["section", "table or figure", "verdicts"], rows),
            _MEANING,
        ]
    )
