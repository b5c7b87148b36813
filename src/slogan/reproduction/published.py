"""The numbers of the paper's section 6, as data. [Hong12] is the source.

Figures 3, 4 and 5 are drawn without numbers; only the numbers in the text are here.
"""

from itertools import chain

from slogan.budget import PrivacyBudget
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS

Key = tuple[str, str]
"""A budget of the paper: e^ε and δ."""
BUDGETS = {(e, d): PrivacyBudget(exp_epsilon=e, delta=d) for e in EXP_EPSILONS for d in DELTAS}
"""The grid of Table 4 and of Figures 3 and 4; it contains every other budget."""

CLICKS, USERS, PAIRS = 53_067, 1_980, 6_043
"""The preprocessed log: |D|, constraints and variables."""
LARGEST = 13_088
"""λ at e^ε = 2, δ = 0.5, as Tables 5 and 6 repeat it."""
FIXED = ("2", "0.5")
"""e^ε and δ of Tables 5 and 6 and of Figure 6."""

TABLE_3 = {
    "clicks": (1_864_860, 237_786, 53_067),
    "users": (51_922, 2_500, 1_980),
    "queries": (583_084, 83_130, 4_971),
    "urls": (373_837, 82_076, 4_289),
    "pairs": (1_190_491, 163_681, 6_043),
}
"""The whole of AOL's log, the sample, and the sample without unique pairs."""

TABLE_4 = (
    (3759, 4007, 4007, 4007, 4007, 4007, 4007),
    (3759, 4007, 4879, 4879, 4879, 4879, 4879),
    (3759, 4007, 4891, 8382, 8382, 8382, 8382),
    (3759, 4007, 4891, 8874, 10445, 11419, 11419),
    (3759, 4007, 4891, 8874, 10445, 12438, 12438),
    (3759, 4007, 4891, 8874, 10445, 13088, 13088),
    (3759, 4007, 4891, 8874, 10445, 13088, 13901),
)
"""λ: a row for each of EXP_EPSILONS, a column for each of DELTAS."""
LARGEST_SIZES = dict(zip(BUDGETS, chain.from_iterable(TABLE_4), strict=True))
"""The same by budget."""

SUPPORTS: tuple[str, ...] = ("1/1000", "1/750", "1/500", "1/250", "1/100")
SIZES: tuple[int, ...] = (3000, 4000, 5000, 6000, 7000, 8000)
TABLE_5 = (
    (0.8873, 0.8189, 0.874, 0.8661, 0.8583, 0.8346),
    (0.8095, 0.8762, 0.8571, 0.8476, 0.8952, 0.8667),
    (0.9143, 0.9143, 0.9286, 0.9143, 0.8857, 0.8714),
    (0.9116, 0.8529, 0.8529, 0.8529, 0.8529, 0.8235),
    (0.933, 0.8667, 0.8, 0.8, 0.8, 0.7333),
)
"""Recall: a row for each of SUPPORTS, a column for each of SIZES."""
TABLE_6 = (
    (0.0551, 0.085, 0.1058, 0.1279, 0.1485, 0.1785),
    (0.0549, 0.0854, 0.1116, 0.1271, 0.1477, 0.1767),
    (0.0559, 0.0865, 0.1048, 0.1247, 0.1448, 0.1716),
    (0.0555, 0.086, 0.1043, 0.1236, 0.1393, 0.161),
    (0.0574, 0.088, 0.1063, 0.1246, 0.1392, 0.1583),
)
"""Sum of support distances of frequent pairs, likewise."""

FIGURE_3_SIZE, FIGURE_3_SUPPORT = 3000, "1/500"

TABLE_7A_KEYS = {d: ("2", d) for d in ("1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")}
TABLE_7A = {
    "SPE (heuristic)": (12.8, 18.1, 26.0, 28.1, 29.5, 30.6),
    "Matlab bintprog": (9.6, 15.2, 23.8, 26.8, 28.9, 29.5),
    "NEOS qsopt_ex": (9.6, 15.2, 23.4, 26.8, 29.5, 29.5),
    "NEOS scip": (9.5, 15.2, 23.7, 26.8, 29.5, 29.5),
    "NEOS feaspump": (9.6, 15.2, 25.8, 29.5, 30.3, 30.3),
}
"""Retained pairs in percent at e^ε = 2, a column for each of TABLE_7A_KEYS."""
TABLE_7B_KEYS = {e: (e, "0.1") for e in ("1.01", "1.1", "1.4", "1.7", "2", "2.3")}
TABLE_7B = {
    "SPE (heuristic)": (17.7, 25.7, 26.0, 26.0, 26.0, 26.0),
    "Matlab bintprog": (14.6, 22.5, 23.8, 23.8, 23.8, 23.8),
    "NEOS qsopt_ex": (15.5, 22.5, 23.4, 23.4, 23.4, 23.4),
    "NEOS scip": (14.6, 21.4, 23.1, 23.1, 23.1, 23.1),
    "NEOS feaspump": (15.5, 25.8, 25.8, 25.8, 25.8, 25.8),
}
"""The same at δ = 0.1, a column for each of TABLE_7B_KEYS."""

TABLE_7 = (
    ("(a) e^ε = 2", "δ", TABLE_7A_KEYS, TABLE_7A),
    ("(b) δ = 0.1", "e^ε", TABLE_7B_KEYS, TABLE_7B),
)
"""Its parts: the parameter that is fixed, the other one, the columns, and the rows."""

FIGURE_4_HIGHEST = 30.0
"""The largest percentage of pairs retained, from the text."""
FIGURE_5 = ("1.7", "1e-3")
"""e^ε and δ of the "typical D-UMP" that is timed."""
FIGURE_6 = {4000: 0.75, 6000: 0.90}
"""By |O|: about this share of triplets has a DiffRatio below 40 %."""
FIGURE_6_SUPPORT, FIGURE_6_OUTPUTS = "1/500", 10


def most_clicks(key: Key) -> float:
    """m·b, which no output of the published log exceeds."""
    return USERS * BUDGETS[key].per_user


def table_7() -> list[tuple[str, Key, float]]:
    """Table 7 cell by cell: solver, budget, percent."""
    return [
        (solver, key, percent)
        for _, _, keys, rows in TABLE_7
        for solver, row in rows.items()
        for key, percent in zip(keys.values(), row, strict=True)
    ]
