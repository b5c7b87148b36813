"""Solvers that only the benchmark runs: HiGHS on the plain model, Local-MIP, and slogan's own."""
