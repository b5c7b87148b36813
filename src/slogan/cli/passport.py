"""`slogan passport`: what catalogues and registries read about a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import RenderableType
from rich.text import Text

from slogan.cli.options import Labelling
from slogan.cli.terminal import Json, show, watching

if TYPE_CHECKING:
    from slogan.workflows.passport import Passport

GROUP, RANK = "release", 3


def passport(
    release: Annotated[Path, Parameter(name="RELEASE", help="The folder of a release.")],
    /,
    *,
    labelling: Labelling = Labelling(),
    json: Json = False,
) -> None:
    """Describe a release for catalogues: croissant.json, deployment.yaml and SHA256SUMS.

    `slogan passport release --published 2026-12-01`

    Every new release has these files in public/.
    This writes them for an older release, or again with other labels.
    The released log is not changed, and verify still passes.
    """
    from slogan.workflows.passport import passport as write_passport

    with watching() as watch:
        watch("passport", "")
        written = write_passport(release, labels=labelling.labels())
    show(written, text, json=json)


def text(written: Passport) -> RenderableType:
    """The files, what is missing in them, and what to do next."""
    public = written.release / "public"
    lines = [f"Written to {public}: {', '.join(written.files)}."]
    if written.older:
        lines.append("Another version made this release; its manifest and pages stay as they were.")
    if written.published is None:
        lines.append(
            "A registry asks for the date of publication: "
            f"slogan passport {written.release} --published YYYY-MM-DD"
        )
    lines.append(f"Next:  slogan verify {public}")
    return Text("\n".join(lines))
