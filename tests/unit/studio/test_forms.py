"""Forms: numbers as several countries write them, and what is too much."""

import pytest

from slogan.errors import OptionError
from slogan.studio.forms import Form, _fields


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("60000", 60_000),
        ("60,000", 60_000),
        ("60.000", 60_000),
        ("60 000", 60_000),
        ("60\u202f000", 60_000),
        ("1’234’567", 1_234_567),
        (" 7 ", 7),
    ],
)
def test_whole_numbers(text, number):
    assert Form({"n": text}).whole("n", "it") == number


@pytest.mark.parametrize("text", ["", "1.5", "1,23", "-1", "many", "1e5", "9" * 13, "٣", "0x10"])
def test_what_is_not_a_whole_number(text):
    with pytest.raises(OptionError, match="it is not a number"):
        Form({"n": text}).whole("n", "it")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", "1"), ("1,5", "1.5"), ("1.5", "1.5"), (",5", ".5"), ("1e-6", "1e-6"), ("0,10", "0.10")],
)
def test_decimals_keep_every_digit(text, number):
    assert Form({"n": text}).decimal("n", "it") == number


@pytest.mark.parametrize("text", ["", "1.234,5", "1,2,3", "nan", "inf", "-1", "1/3", "1e9999", "²"])
def test_what_is_not_a_decimal(text):
    with pytest.raises(OptionError, match="it is not a number"):
        Form({"n": text}).decimal("n", "it")


def test_a_form_of_too_many_fields_is_refused():
    with pytest.raises(OptionError, match="too many"):
        _fields("&".join(f"a{n}=1" for n in range(1_000)))
