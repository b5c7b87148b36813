"""reproduce(): every table and figure of the paper's section 6 on a log, as pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slogan import engines, reproduction
from slogan.engines import Counted, Spark
from slogan.folders import scratch_folder
from slogan.generate import generate
from slogan.histogram import LogSize
from slogan.pipeline import check_shared
from slogan.report.html import picture
from slogan.reproduction._laboratory import FULL, QUICK, Laboratory, digest_of
from slogan.reproduction._pages import MADE_UP, REAL, Page, markdown, table
from slogan.reproduction._store import Store
from slogan.searchlog import SearchLog, Source
from slogan.stages import Progress, unwatched

USERS, SEED = 2_500, 0
"""The made-up log: as many users as the paper's sample."""

_MEANING = """\
## What the verdicts mean

- **not reachable**: a proof excludes the published value for every log of that size.
- **not excluded**: no proof here excludes it.
- **contradicts itself**: published numbers exclude each other, whatever the log.
- **holds here**, **does not hold here**: so it is on this log.

We do not know how the published numbers came about, and draw no conclusion about the paper's \
method, which stands on its proof.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One page that was written."""

    name: str
    section: str
    title: str
    file: str
    page: Page

    def summary(self) -> dict[str, Any]:
        """An entry of `pages` in `reproduce --json`."""
        verdicts = [{"kind": str(v.kind), "why": v.why} for v in self.page.verdicts]
        told = {name: getattr(self, name) for name in ("name", "section", "title", "file")}
        return {**told, "verdicts": verdicts}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What was written, and about which log."""

    output: Path
    made_up: bool
    quick: bool
    sizes: tuple[LogSize, LogSize]
    pages: tuple[Written, ...]
    computed: tuple[str, ...]
    """The parts that had to be computed; pages share parts."""
    reused: tuple[str, ...]
    """The parts that were known from an earlier run."""
    seconds: float

    def summary(self) -> dict[str, Any]:
        """The fields of `reproduce --json`."""
        whole, shared = self.sizes
        return {
            "output": str(self.output),
            "made_up": self.made_up,
            "quick": self.quick,
            "log": {**asdict(whole), "shared": asdict(shared)},
            "pages": [page.summary() for page in self.pages],
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
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    progress: Progress = unwatched,
) -> Reproduction:
    """Write a page for each table and figure, beside published values and provable bounds.

    What is in the folder from an earlier run on the same log is not computed again.

    Args:
        output: The folder: Markdown, SVG, and what was computed as JSON.
        only: Such as ("table4", "figure3"); everything if not given, and then an index too.
        log: A log of one's own, whose pages are for its curator; a made-up one if not given.
        quick: Give each problem a fraction of the time.
        force: Compute everything anew.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        progress: Told the share that is done and what is done next.
    """
    begin, folder = time.perf_counter(), Path(output)
    asked = reproduction.names() if only is None else tuple(dict.fromkeys(only))
    experiments = {name: reproduction.load(name) for name in asked}
    progress(0.0, "count the log")
    counted, sizes = _counted(log, engine, memory_limit)
    check_shared(counted)
    folder.mkdir(mode=0o755 if log is None else 0o700, parents=True, exist_ok=True)
    store = Store(folder / "data", digest_of(counted.hist, sizes), force=force)
    lab = Laboratory(
        hist=counted.hist,
        sizes=sizes,
        seconds=QUICK if quick else FULL,
        store=store,
        progress=unwatched,
    )
    written: list[Written] = []
    for n, (name, experiment) in enumerate(experiments.items()):
        title = experiment.TITLE
        lab.progress = _within(progress, n, len(experiments), title.partition(":")[0])
        lab.progress(0.0, "")
        page = experiment.page(lab)
        file = _save(folder, name, title, page, banner=MADE_UP if log is None else REAL)
        written.append(
            Written(
                name=name,
                section=experiment.SECTION,
                title=title,
                file=file,
                page=page,
            )
        )
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


def _counted(
    log: SearchLog | Source | None, engine: str | Spark, memory_limit: str | None
) -> tuple[Counted, tuple[LogSize, LogSize]]:
    with scratch_folder() as place:
        if log is None:
            log = place / "log.parquet"
            generate(log, users=USERS, seed=SEED)
        source = log if isinstance(log, SearchLog) else engines.described(log, engine)
        host = engines.start(engine, source, memory_limit=memory_limit)
        try:
            counted = host.count(source)
            return counted, host.sizes()
        finally:
            host.close()


def _within(progress: Progress, n: int, of: int, title: str) -> Progress:
    """A part's share as one of the whole."""
    return lambda share, note: progress((n + share) / of, f"{title} {note}".strip())


def _save(folder: Path, name: str, title: str, page: Page, *, banner: str) -> str:
    for chart in page.charts:
        (folder / f"{chart.name}.svg").write_text(picture(chart), encoding="utf-8")
    file = f"{name[:-1]}-{name[-1]}.md"
    (folder / file).write_text(markdown(page, title=title, banner=banner), encoding="utf-8")
    return file


def _index(done: Reproduction) -> str:
    rows = [
        [
            written.section,
            f"[{written.title}]({written.file})",
            ", ".join(dict.fromkeys(str(v.kind) for v in written.page.verdicts)),
        ]
        for written in done.pages
    ]
    shared = done.sizes[1]
    command = "slogan reproduce" + (" --quick" if done.quick else "")
    made = f"the made-up log of {USERS:,} users, seed {SEED}" if done.made_up else "a log"
    said = [
        f"Written by `{command}`, slogan {version('slogan')}, on {made}.",
        f"Without unique pairs it has {shared.clicks:,} clicks of {shared.users:,} users on "
        f"{shared.pairs:,} pairs.",
        "Each page shows what the paper prints, what is provable about it, and what this log "
        "gives.",
        "What was computed is in `data/`; a second run computes only what is missing.",
    ]
    return "\n\n".join(
        [
            "# The paper's section 6, reproduced",
            MADE_UP if done.made_up else REAL,
            "\n".join(said),
            table(["section", "table or figure", "verdicts"], rows),
            _MEANING,
        ]
    )
