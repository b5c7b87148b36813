"""`slogan generate`: a made-up log."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from slogan.cli.terminal import Json, show, watching
from slogan.errors import ReleaseExistsError


def generate(
    out: Annotated[Path, Parameter(name="OUT", help="The file to write.")],
    /,
    *,
    users: int = 2_500,
    seed: int = 0,
    clicks_per_user: float = 95.1,
    format: Annotated[str | None, Parameter(help="One of: tsv, csv, jsonl, parquet, aol.")] = None,
    force: Annotated[bool, Parameter(negative="", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Write a made-up log with the shape of AOL's; no person is behind it.

    `slogan generate clicks.tsv --users 2500 --seed 0`

    Parameters
    ----------
    users
        How many users.
    seed
        The same seed gives the same log.
    clicks_per_user
        95.1 as in the paper's sample; AOL's whole log has about 28.
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
        return f"{self.users:,} users, {self.bytes:,} bytes: {self.file}"
