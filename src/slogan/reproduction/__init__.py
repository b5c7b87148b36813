"""The paper's section 6 on a log: a file for each subsection, and foreign solvers in `peers/`."""
