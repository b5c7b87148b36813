"""Solvers compared that only the benchmark runs: HiGHS on the plain model, and slogan's own."""
