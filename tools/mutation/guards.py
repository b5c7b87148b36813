"""The tests that guard each source file, the most important files first."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

_VERIFIERS_NUMBERS = [
    "tests/unit/verification/test_conditions.py",
    "tests/unit/verification/test_accounting.py",
]
_NOISE = ["tests/unit/dp/test_noise.py", "tests/unit/dp/test_noise_laws.py"]
_ACCOUNT = ["tests/unit/dp/test_accounting.py", "tests/unit/dp/test_accounting_accounts.py"]
_ROUNDING = ["tests/unit/dp/test_accounting_roundings.py"]
_SELECTION = [
    "tests/unit/dp/selection/test_weights_numbers.py",
    "tests/unit/dp/selection/test_pooled_thresholds.py",
    "tests/unit/dp/selection/test_weights.py",
    "tests/unit/dp/selection/test_pooled_rules.py",
]
_STAGES = [
    "tests/unit/dp/test_sums.py",
    "tests/unit/dp/test_sums_private_counts.py",
    "tests/unit/dp/test_statistics_stages.py",
]
_FIELDS = ["tests/unit/dp/fields/test_sums.py", "tests/unit/dp/fields/test_statistics.py"]
_UBI = ["tests/unit/verification/ubi/test_written.py"]
_EVENTS = ["tests/unit/engines/test_events.py", *_UBI]
_BOOKS = ["tests/unit/ledger/test_entries.py", "tests/unit/ledger/test_ledger.py"]
_LEDGER = [
    *_BOOKS,
    "tests/unit/ledger/test_hash_chain_power_cuts.py",
    "tests/unit/ledger/test_ledger_faults.py",
]

_GUARDS = {
    "planning/plan.py": [
        "tests/unit/planning/test_plan.py",
        "tests/paper/test_pairwise_privacy.py",
    ],
    "planning/sampling.py": [
        "tests/unit/planning/test_sampling.py",
        "tests/paper/test_pairwise_privacy.py",
    ],
    "planning/constraints.py": [
        "tests/unit/planning/test_constraints.py",
        "tests/unit/planning/test_plan.py",
        "tests/paper/test_pairwise_privacy.py",
        "tests/paper/test_limits.py",
        "tests/paper/test_figure1.py",
    ],
    "budget.py": ["tests/unit/test_budget.py"],
    "randomness.py": ["tests/unit/test_randomness.py"],
    "dp/accounting.py": ["tests/unit/dp/test_accounting_searches.py", *_ACCOUNT, *_ROUNDING],
    "dp/private_rows.py": ["tests/unit/dp/test_private_rows.py", *_ROUNDING, *_STAGES],
    "dp/noise.py": [
        *_NOISE,
        "tests/unit/dp/test_noise_decays.py",
        "tests/unit/dp/test_noise_inversions.py",
    ],
    "dp/sums.py": _STAGES,
    "dp/selection/_weights.py": _SELECTION,
    "dp/selection/pooled.py": _SELECTION,
    "dp/selection/_look.py": ["tests/unit/dp/selection/test_look.py"],
    "dp/selection/__init__.py": ["tests/unit/dp/selection/test_look.py"],
    "dp/one_pair.py": ["tests/unit/dp/test_one_pair.py"],
    "dp/contributions.py": [
        "tests/unit/dp/test_contributions.py",
        "tests/unit/workflows/test_synthesize_auto.py",
    ],
    "dp/attainable.py": ["tests/unit/dp/test_attainable.py"],
    "verification/contributions/one_pair.py": [
        "tests/unit/verification/contributions/test_one_pair.py"
    ],
    "verification/contributions/look.py": ["tests/unit/verification/test_forgeries.py"],
    "dp/fields/statistics.py": _FIELDS,
    "dp/fields/sums.py": _FIELDS,
    "verification/fields/__init__.py": ["tests/unit/verification/fields/test_fields.py"],
    **{
        f"verification/events/{name}.py": _EVENTS
        for name in ("checks", "form", "reader", "table", "written")
    },
    **{f"verification/ubi/{name}.py": _UBI for name in ("reader", "written")},
    "verification/public_knowledge.py": ["tests/unit/workflows/test_synthesize_public.py"],
    **{
        f"verification/passport/{name}.py": ["tests/unit/verification/test_passport.py"]
        for name in ("__init__", "checksums", "croissant", "deployment", "facts", "plain_yaml")
    },
    "verification/conditions.py": _VERIFIERS_NUMBERS,
    "verification/accounting.py": _VERIFIERS_NUMBERS,
    "verification/checks.py": [
        "tests/unit/verification/test_checks_real_rows.py",
        "tests/unit/verification/test_checks.py",
    ],
    "verification/evidence.py": [
        "tests/unit/verification/test_evidence.py",
        "tests/unit/workflows/test_review.py",
    ],
    "verification/verify.py": ["tests/unit/verification/test_evidence.py"],
    "verification/comparison.py": ["tests/unit/verification/test_comparison.py"],
    "verification/form.py": ["tests/unit/verification/test_forgeries.py"],
    "verification/wording.py": [
        "tests/unit/verification/test_wording.py",
        "tests/unit/verification/test_checks.py",
    ],
    "verification/released_bytes.py": ["tests/unit/verification/test_forgeries.py"],
    "verification/mechanism.py": ["tests/unit/verification/test_forgeries.py"],
    "verification/users.py": ["tests/unit/verification/test_forgeries.py"],
    "verification/plain_reader.py": ["tests/unit/verification/test_plain_reader.py"],
    "verification/private_checks.py": [
        "tests/unit/verification/test_private_checks_rows.py",
        "tests/unit/verification/test_private_checks_strength.py",
        "tests/unit/verification/test_private_checks_users.py",
    ],
    "dp/intervals.py": [
        "tests/unit/dp/test_intervals_normal_tails.py",
        *_ROUNDING,
        *_NOISE,
        "tests/unit/dp/test_intervals_exp.py",
    ],
    "ledger/cap.py": [
        "tests/unit/ledger/test_cap_room.py",
        "tests/unit/ledger/test_cap.py",
        *_BOOKS,
    ],
    "ledger/entries.py": _BOOKS,
    "ledger/hash_chain.py": _LEDGER,
    "ledger/ledger.py": _LEDGER,
    "dp/statistics.py": _STAGES,
    "dp/selection/weighted_gaussian.py": _SELECTION,
}
GUARDS = {f"src/slogan/{file}": tests for file, tests in _GUARDS.items()}

# These compute after the noise, from public data: they can be wrong, but reveal nothing.
_USEFUL = ("departures", "grouping", "swaps", "synthesis")
_USEFUL_FIELDS = ("arrangement", "loops", "profiles")
AFTER_THE_NOISE = {
    *(f"src/slogan/dp/{name}.py" for name in _USEFUL),
    *(f"src/slogan/dp/fields/{name}.py" for name in _USEFUL_FIELDS),
}
