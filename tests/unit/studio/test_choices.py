"""Choices: the command and the file say the same, whatever the texts."""

import shlex
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.cli.options import EventReading
from slogan.errors import OptionError
from slogan.studio.choices import Command, LogChoice

TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


@given(title=TEXTS, user=TEXTS, name=TEXTS)
def test_a_command_and_its_file_hold_the_same(title, user, name):
    command = Command(
        verb="synthesize",
        names=[name],
        reading={"user": user, "fold": True, "url": None},
        own={"title": title, "force": False},
    )
    words, tables = shlex.split(command.line), tomllib.loads(command.toml)

    assert words == ["slogan", "synthesize", name, "--user", user, "--fold", "--title", title]
    assert tables == {"reading": {"user": user, "fold": True}, "synthesize": {"title": title}}
    assert shlex.split(command.configured)[-1] == name


def test_the_choices_are_options_of_the_command_line():
    """With the same defaults, so that only what differs is written."""
    mine = {k: v for k, v in vars(LogChoice()).items() if k not in ("source", "uploaded")}
    theirs = vars(EventReading())

    assert mine.items() <= theirs.items()


def test_only_what_differs_is_an_option():
    assert LogChoice(source="a").options() == {}
    choice = LogChoice(source="a", user="who", fold=True, rank="position")
    assert choice.options() == {"user": "who", "fold": True}
    assert choice.event_options() == {"rank": "position"}


def test_without_a_log_nothing_is_read():
    with pytest.raises(OptionError, match="no log yet"):
        LogChoice().log()
