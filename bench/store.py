"""Results on disk: one JSON file per question, written after every answer, read on resumption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.machine import machine

RESULTS = Path(__file__).parent / "results"

Record = dict[str, Any]


class Store:
    """The records of one question by key, and the machine they were measured on."""

    def __init__(self, question: str) -> None:
        self.path = RESULTS / f"{question}.json"
        self.machine = machine()
        self.records: dict[str, Record] = {}
        if self.path.exists():
            self.records = json.loads(self.path.read_text(encoding="utf-8"))["records"]

    def keep(self, key: str, record: Record) -> None:
        """Store a record and replace the file atomically."""
        self.records[key] = record
        whole = {"machine": self.machine, "records": dict(sorted(self.records.items()))}
        RESULTS.mkdir(exist_ok=True)
        fresh = self.path.with_suffix(".json.new")
        fresh.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.path)

    def print_and_keep(self, markdown: str) -> None:
        """Print the tables and put them beside the records."""
        print(markdown)
        self.path.with_suffix(".md").write_text(markdown + "\n", encoding="utf-8")
