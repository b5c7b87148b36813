"""What the columns of time, rank and session of a release mean, in sentences from its manifest."""

from collections.abc import Iterator
from math import ceil

from slogan.manifest.manifest import Manifest, Outputs

_NEEDED = {"time": ("hours",), "rank": ("ranks",), "session": ("sessions", "lengths")}
"""The stages without which a column stays empty."""
_FILLED = {
    "time": "times are made up. Hours of the week{days} have about the shares of the original, and "
    "sessions of one user are at least 30 minutes apart. Pauses inside a session are invented",
    "rank": "ranks are drawn from those of similar pairs, with noise. Do not read them as the rank "
    "of one result",
    "session": "sessions are made up: users have about as many as in the original, with about as "
    "many clicks on the released pairs",
}
_LEFT_OUT = {
    "days": "days have the shares of their weekdays only",
    "steps": "what follows what in a session is random",
    "searches": "no searches without a click are made up",
    "sessions": "how many sessions a user has is invented",
    "lengths": "how long sessions are is invented",
}


def column_notes(manifest: Manifest) -> list[str]:
    """One sentence for each column that was asked for, and for each part that noise hid."""
    return list(_notes(manifest))


def _notes(manifest: Manifest) -> Iterator[str]:
    events, outputs = manifest.log.events, manifest.outputs
    if events is None or not isinstance(outputs, Outputs):
        return
    if (found := outputs.fields) is None:
        names = " and ".join(getattr(events, role) for role in events.dropped)
        yield f"{names}: empty, because only one pair of each user was measured."
        return
    for role in events.filled:
        days = "" if "days" in found.dropped else ", and days,"
        yield f"{getattr(events, role)}: {_FILLED[role].format(days=days)}."
    for role in events.dropped:
        noise = max((found.dropped.get(stage, 0.0) for stage in _NEEDED[role]), default=0.0)
        why = "what was measured is not clear of the noise: few rows may have one"
        if noise:
            why = f"the noise would be {_percent(noise)} of what users add to it, above 25%"
        yield f"{getattr(events, role)}: empty, because {why}."
    if "time" in events.filled or "session" in events.filled:
        yield from (
            f"Left out, because noise would hide it ({_percent(found.dropped[stage])}): {what}."
            for stage, what in _LEFT_OUT.items()
            if stage in found.dropped
        )


def _percent(share: float) -> str:
    """Rounded up, so that what exceeds 25% does not read as 25%."""
    return f"{ceil(100 * share)}%"
