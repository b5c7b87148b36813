"""Labels: what a release is called, who publishes it, and under which terms."""

from datetime import date

from pydantic import BaseModel, ConfigDict

from slogan.errors import OptionError

LONGEST_LABEL = 200


def is_label(text: str) -> bool:
    """Whether a text is one printable line that is neither empty nor long."""
    return text.isprintable() and bool(text.strip()) and len(text) <= LONGEST_LABEL


def is_date(text: str) -> bool:
    """Whether a text is a date of the calendar, as 2026-12-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def require_label(name: str, text: str | None) -> str | None:
    """The text, if it can be a label; an error that names the option if not."""
    if text is not None and not is_label(text):
        raise OptionError(
            f"the {name} of a release is one line of 1 to {LONGEST_LABEL} characters",
            hint=f'write it in quotes on one line, such as --{name} "…"',
        )
    return text


class Labels(BaseModel):
    """What a release is called and who publishes it. All of it is published.

    Each label is one line of at most 200 characters. Do not take anything here from the log.

    Args:
        title: The name of the data set.
        publisher: The person or organisation that publishes it.
        contact: Where to send questions, such as an e-mail address.
        period: The time in which the searches were made, such as "2026-01 to 2026-03".
        licence: The terms of use, such as "CC BY 4.0".
        region: Where the searches come from, or whose law applies, such as "Germany".
        published: The date of publication, such as "2026-12-01".
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    title: str | None = None
    publisher: str | None = None
    contact: str | None = None
    period: str | None = None
    licence: str | None = None
    region: str | None = None
    published: str | None = None

    def given(self) -> dict[str, str]:
        """The labels there are, by name."""
        return self.model_dump(exclude_none=True)

    def require(self) -> None:
        """Refuse a label that is not one printable line."""
        for name, text in self.given().items():
            require_label(name, text)
        if self.published is not None and not is_date(self.published):
            raise OptionError(
                "the date of publication is not a date", hint="write it as --published 2026-12-01"
            )

    def changed(self, given: "Labels") -> "Labels":
        """These labels, and in their place those that are given."""
        return self.model_copy(update=given.given())
