"""A picture of 100 people: how many of them an attacker could name, at most."""

from html import escape

from slogan.report.charts import element

_COLUMNS, _STEP, _ROW = 20, 24, 38
_PEOPLE = 100


def people_picture(*, named: int, guessed: int, title: str, summary: str) -> str:
    """Draw 100 people: named by guessing (dotted), because of the release (solid), or not."""
    people = [_person(n, _kind(n, named, guessed)) for n in range(_PEOPLE)]
    return element(
        "svg",
        element("title", escape(title), id="people-title"),
        element("desc", escape(summary), id="people-desc"),
        *people,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_COLUMNS * _STEP} {_PEOPLE // _COLUMNS * _ROW}",
        role="img",
        aria_labelledby="people-title people-desc",
        class_="people",
    )


def _kind(n: int, named: int, guessed: int) -> str:
    if n < min(guessed, named):
        return "guessed"
    return "named" if n < named else "unnamed"


def _person(n: int, kind: str) -> str:
    """A head and shoulders; the outline of each kind differs, not the colour alone."""
    x, y = n % _COLUMNS * _STEP + _STEP / 2, n // _COLUMNS * _ROW
    body = f"M{x - 8:.1f},{y + 32} v-7 a8,8 0 0 1 16,0 v7 z"
    return element(
        "g",
        element("circle", cx=x, cy=y + 9, r=5.5),
        element("path", d=body),
        class_=f"person {kind}",
    )
