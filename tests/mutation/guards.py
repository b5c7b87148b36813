"""Which tests stand guard over which source files, the most important files first."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

_VERIFIERS_NUMBERS = [
    "tests/unit/test_verifiers_limits.py",
    "tests/unit/test_verifiers_arithmetic.py",
]
_NOISE = ["tests/unit/test_noise.py", "tests/unit/test_noise_laws.py"]
_ACCOUNT = ["tests/unit/test_accounting.py", "tests/unit/test_accounts.py"]
_ROUNDING = ["tests/unit/test_roundings.py"]
_SELECTION = [
    "tests/unit/test_selection_numbers.py",
    "tests/unit/test_selection_thresholds.py",
    "tests/unit/test_selection_weights.py",
    "tests/unit/test_selection_rules.py",
]
_STAGES = [
    "tests/unit/test_sums_of_stages.py",
    "tests/unit/test_private_counts.py",
    "tests/unit/test_stages_of_synthesis.py",
]
_BOOKS = ["tests/unit/test_books.py", "tests/unit/test_ledger.py"]
_LEDGER = [*_BOOKS, "tests/unit/test_power_cuts.py", "tests/unit/test_ledger_faults.py"]

_GUARDS = {
    "plan.py": ["tests/unit/test_plan.py", "tests/paper/test_pairwise_privacy.py"],
    "sampling.py": ["tests/unit/test_sampling.py", "tests/paper/test_pairwise_privacy.py"],
    "constraints.py": [
        "tests/unit/test_constraints.py",
        "tests/unit/test_plan.py",
        "tests/paper/test_pairwise_privacy.py",
        "tests/paper/test_limits.py",
        "tests/paper/test_figure1.py",
    ],
    "privacy.py": ["tests/unit/test_privacy.py"],
    "randomness.py": ["tests/unit/test_randomness.py"],
    "dp/accounting.py": [*_ACCOUNT, *_ROUNDING],
    "dp/mechanisms.py": [*_ACCOUNT, *_ROUNDING],
    "dp/capped_sampling.py": ["tests/unit/test_capped_sampling.py", *_ROUNDING],
    "dp/noise.py": _NOISE,
    "dp/sums.py": _STAGES,
    "dp/remote.py": _STAGES,
    "dp/counts.py": _STAGES,
    "dp/sizes.py": _STAGES,
    "dp/coverage.py": _STAGES,
    "dp/selection/__init__.py": ["tests/unit/test_selection_rules.py"],
    "dp/selection/_coins.py": ["tests/unit/test_selection_numbers.py"],
    "dp/selection/_contributions.py": ["tests/unit/test_selection_numbers.py"],
    "dp/selection/_grid.py": _SELECTION,
    "dp/selection/_spreading.py": _SELECTION,
    "dp/selection/_schedule.py": _SELECTION,
    "dp/selection/pooled.py": _SELECTION,
    "audit/conditions.py": _VERIFIERS_NUMBERS,
    "audit/sampled.py": ["tests/unit/test_verifying_sampled_releases.py"],
    "audit/spending.py": _VERIFIERS_NUMBERS,
    "audit/gaussian.py": _VERIFIERS_NUMBERS,
    "audit/folder.py": ["tests/unit/test_verifying_folders.py"],
    "audit/evidence.py": ["tests/unit/test_verifying_evidence.py"],
    "audit/certificate.py": ["tests/unit/test_verifying_evidence.py"],
    "audit/comparison.py": ["tests/unit/test_verifying_comparisons.py"],
    "audit/capped.py": ["tests/unit/test_verifiers_capped.py"],
    "audit/synthesized.py": ["tests/unit/test_verifying_synthetic_releases.py"],
    "dp/curves.py": ["tests/unit/test_searches.py", *_ACCOUNT, *_ROUNDING],
    "dp/_enclosures.py": ["tests/unit/test_normal_tails.py", *_ROUNDING],
    "dp/enclosures.py": [*_NOISE, "tests/unit/test_enclosures_of_exp.py"],
    "dp/decay.py": [*_NOISE, "tests/unit/test_decays.py"],
    "dp/strips.py": [*_NOISE, "tests/unit/test_decays.py"],
    "dp/inversion.py": [*_NOISE, "tests/unit/test_inversions.py"],
    "dp/poisson.py": [*_NOISE, "tests/unit/test_inversions.py"],
    "dp/cap.py": ["tests/unit/test_room.py", "tests/unit/test_cap.py", *_BOOKS],
    "dp/books.py": _BOOKS,
    "dp/chain.py": _LEDGER,
    "dp/ledger.py": _LEDGER,
    "dp/association.py": _STAGES,
    "dp/statistics.py": _STAGES,
    "dp/private_histogram.py": _STAGES,
    "dp/selection/weighted_gaussian.py": _SELECTION,
    "dp/selection/gaussian_histogram.py": _SELECTION,
    "dp/selection/laplace_histogram.py": _SELECTION,
    "dp/selection/sips.py": _SELECTION,
    "dp/selection/policy_gaussian.py": _SELECTION,
    "dp/selection/adaptive_degree.py": _SELECTION,
    "dp/selection/fitted.py": [*_SELECTION, "tests/unit/test_fitted_selection.py"],
}
GUARDS = {f"src/slogan/{file}": tests for file, tests in _GUARDS.items()}

# What these compute comes after the noise, from what is public: it can be wrong, not revealing.
AFTER_THE_NOISE = {
    "src/slogan/dp/domains.py",
    "src/slogan/dp/grouping.py",
    "src/slogan/dp/kinds.py",
    "src/slogan/dp/mixture.py",
    "src/slogan/dp/reach.py",
    "src/slogan/dp/synthesis.py",
}
