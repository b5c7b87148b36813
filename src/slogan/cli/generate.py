"""`slogan generate`: a made-up log."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from slogan.cli.terminal import Json, show, watching
from slogan.errors import ReleaseExistsError

GROUP, RANK = "study", 2


def generate(
    out: Annotated[Path, Parameter(name="OUT", help="The file to write.")],
    /,
    *,
    users: int = 2_500,
    seed: int = 0,
    clicks_per_user: float = 95.1,
    format: Annotated[
        str | None,
        Parameter(help="tsv, csv, jsonl, parquet, aol or ubi. By default the file's name decides."),
    ] = None,
    events: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Write a made-up search log to try things on: no real person is in it.

    `slogan generate clicks.tsv --users 2500 --seed 0`

    Parameters
    ----------
    users
        Number of users.
    seed
        The same seed gives the same log.
    events
        Write each click, and each search without one, with its time, rank and session, from
        2006-03-01 to 2006-05-31. Sessions have topics, hours and days have their shares, and lower
        ranks are clicked less.
    clicks_per_user
        Mean number of clicks. The paper's sample of AOL's log has 95.1, the whole log about 28.
    """
    if out.exists() and not force:
        raise ReleaseExistsError(f"{out} already exists", hint="give --force to replace it")

    from slogan.generation.generate import generate as generate_log

    with watching() as watch:
        generate_log(
            out,
            users=users,
            seed=seed,
            format=format,
            clicks_per_user=clicks_per_user,
            events=events,
            progress=watch,
        )
    show(_Generated(str(out), users, seed, out.stat().st_size), str, json=json)


@dataclass(frozen=True)
class _Generated:
    file: str
    users: int
    seed: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"Wrote {self.file}: {self.users:,} users, {self.bytes:,} bytes."
