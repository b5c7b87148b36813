"""The words of generated logs, and the SQL that turns the number of a query or url into text.

The words are in `words.toml`, all generic or invented; `FAMOUS` names the few real sites.
Numbers and text correspond one to one, so a log is drawn as numbers and spelt out when written.
A number holds its parts as bits, high to low: kind (2), topic (6), home town (10), rank (44).
"""

import tomllib
from importlib.resources import files

from slogan.arrays import Ints

SITE, TOPICAL, PERSONAL = range(3)
"""Kinds of queries: the name of a site, a question of a topic, one that names people at home."""

_KIND_BIT, _TOPIC_BIT, _HOME_BIT = 60, 54, 44
_LISTS = tomllib.loads(files("slogan.generation").joinpath("words.toml").read_text("utf-8"))


def _words(name: str) -> tuple[str, ...]:
    return tuple(_LISTS[name].split())


TOPICS = {topic: tuple(nouns.split()) for topic, nouns in _LISTS["topics"].items()}
"""Twenty nouns for each topic; no noun is in two topics. The first topic is everybody's."""
FAMOUS, SUFFIXES, ASPECTS = _words("famous"), _words("suffixes"), _words("aspects")
MODIFIERS, DOMAINS = _words("modifiers"), _words("domains")
_TOWN_STARTS, _TOWN_ENDS = _words("town_starts"), _words("town_ends")
_NAME_STARTS, _NAME_ENDS = _words("name_starts"), _words("name_ends")

_NOUNS = len(TOPICS["portals"])
TOWNS = len(_TOWN_STARTS) * len(_TOWN_ENDS)
_ASKED = _NOUNS * len(ASPECTS)

SITES = _NOUNS * len(SUFFIXES)
"""Sites of a topic that people know by name: www.<name>.com."""

URLS = SITES * len(DOMAINS) * (1 + TOWNS)
"""All urls of a topic; the first `SITES` are the sites known by name."""

SPELLINGS = 4
"""Ways to type the name of a site: name, name.com, www.name.com, two words."""

QUESTIONS = _ASKED * (1 + len(MODIFIERS) + TOWNS)
"""Topical queries of a topic, short ones first."""

PERSONALS = 3 * _NOUNS * len(_NAME_STARTS) * len(_NAME_ENDS)
"""Personal queries of a topic in one home town."""


def number(*, rank: Ints, topic: Ints, kind: Ints | int = 0, home: Ints | int = 0) -> Ints:
    """Numbers of queries; with topic and rank alone, numbers of urls."""
    return (kind << _KIND_BIT) | (topic << _TOPIC_BIT) | (home << _HOME_BIT) | rank


def _pick(words: tuple[str, ...], index: str) -> str:
    return f"[{', '.join(repr(word) for word in words)}][({index}) + 1]"


def text_macros() -> str:
    """SQL statements that define `query_text(number)` and `url_text(number)` in DuckDB.

    The parts of a text are the digits of a rank in mixed radix: different ranks differ in a part.
    `scattered` permutes the ranks below `size` (a prime above every factor of `size` divides none),
    so that neighbours do not look alike, nor do the first ranks of two topics.
    """
    nouns = tuple(noun for topic in TOPICS.values() for noun in topic)
    return f"""
CREATE MACRO topic_of(n) AS (n >> {_TOPIC_BIT}) & 63;
CREATE MACRO rank_of(n) AS n & {(1 << _HOME_BIT) - 1};
CREATE MACRO scattered(rank, size, topic) AS (rank * 1000003 + topic * 7919) % size;
CREATE MACRO noun(topic, i) AS {_pick(nouns, f"topic * {_NOUNS} + i % {_NOUNS}")};
CREATE MACRO town(i) AS {_pick(_TOWN_STARTS, f"i % {len(_TOWN_STARTS)}")}
    || {_pick(_TOWN_ENDS, f"i // {len(_TOWN_STARTS)}")};
CREATE MACRO person(i) AS {_pick(_NAME_STARTS, f"i % {len(_NAME_STARTS)}")}
    || {_pick(_NAME_ENDS, f"i // {len(_NAME_STARTS)} % {len(_NAME_ENDS)}")};
CREATE MACRO asked(topic, i) AS noun(topic, i) || ' ' || {_pick(ASPECTS, f"i // {_NOUNS}")};
CREATE MACRO two_words(topic, i, gap) AS
    noun(topic, i) || gap || {_pick(SUFFIXES, f"i // {_NOUNS}")};
CREATE MACRO site_name(topic, site) AS CASE
    WHEN topic = 0 AND site < {len(FAMOUS)} THEN {_pick(FAMOUS, "site")}
    ELSE two_words(topic, scattered(site % {SITES}, {SITES}, topic), '') END;
CREATE MACRO local_name(topic, site, level) AS
    CASE WHEN level < {len(DOMAINS)} THEN '' ELSE town(level // {len(DOMAINS)} - 1) || '-' END
    || site_name(topic, site) || '.' || {_pick(DOMAINS, f"level % {len(DOMAINS)}")};
CREATE MACRO url_text(n) AS 'www.' || local_name(topic_of(n), rank_of(n), rank_of(n) // {SITES});
CREATE MACRO site_query(topic, site, spelling) AS CASE spelling
    WHEN 0 THEN site_name(topic, site)
    WHEN 1 THEN site_name(topic, site) || '.com'
    WHEN 2 THEN 'www.' || site_name(topic, site) || '.com'
    ELSE CASE WHEN topic = 0 AND site < {len(FAMOUS)} THEN site_name(topic, site) || ' website'
         ELSE two_words(topic, scattered(site, {SITES}, topic), ' ') END END;
CREATE MACRO long_query(topic, i) AS CASE
    WHEN i < {_ASKED * len(MODIFIERS)}
    THEN {_pick(MODIFIERS, f"i // {_ASKED}")} || ' ' || asked(topic, i % {_ASKED})
    ELSE asked(topic, i % {_ASKED}) || ' ' || town(i // {_ASKED} - {len(MODIFIERS)}) END;
CREATE MACRO topical_query(topic, rank) AS CASE
    WHEN rank < {_ASKED} THEN asked(topic, scattered(rank, {_ASKED}, topic))
    ELSE long_query(topic, scattered(rank - {_ASKED}, {QUESTIONS - _ASKED}, topic)) END;
CREATE MACRO personal_query(topic, i, home) AS CASE i // {PERSONALS // 3}
    WHEN 0 THEN noun(topic, i) || ' ' || person(i // {_NOUNS}) || ' ' || home
    WHEN 1 THEN person(i // {_NOUNS}) || ' ' || noun(topic, i) || ' ' || home
    ELSE home || ' ' || person(i // {_NOUNS}) || ' ' || noun(topic, i) END;
CREATE MACRO query_text(n) AS CASE n >> {_KIND_BIT}
    WHEN {SITE} THEN
        site_query(topic_of(n), rank_of(n) // {SPELLINGS}, rank_of(n) % {SPELLINGS})
    WHEN {TOPICAL} THEN topical_query(topic_of(n), rank_of(n))
    ELSE personal_query(
        topic_of(n), scattered(rank_of(n), {PERSONALS}, 0), town((n >> {_HOME_BIT}) & {TOWNS - 1})
    ) END;
"""
