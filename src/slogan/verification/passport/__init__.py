"""The passport of a release: what catalogues read must state what the manifest states.

Each file is read by separate code, apart from the code that writes it, and compared with the
manifest's numbers. `words` compares the sentences.
"""

from slogan.errors import BudgetError
from slogan.manifest.manifest import CHECKSUMS, Manifest
from slogan.report.pages import PASSPORT
from slogan.storage.untrusted import modest
from slogan.verification.evidence import Evidence, Finding, NotPossibleError
from slogan.verification.passport import croissant, deployment
from slogan.verification.passport.checksums import checksum_faults
from slogan.verification.wording import names_of_log, numbers_of, same_words, words_of

FILES = {"croissant.json": croissant.read_facts, "deployment.yaml": deployment.read_facts}
_LONGEST = 200_000
_LONGER = 2
"""A passport of another version may be this long, or so many times as long as ours."""


def passport(evidence: Evidence) -> Finding:
    """Whether croissant.json and deployment.yaml state the manifest's facts, and nothing else."""
    there = [name for name in FILES if (evidence.public / name).is_file()]
    if not there and not same_words(evidence.manifest):
        return True, (
            "made by an earlier version, without a passport; to add one: slogan passport RELEASE"
        )
    manifest = _with_parts(evidence)
    ours = _known(manifest)
    faults: list[str] = []
    if same_words(manifest) and manifest.log.parted != evidence.manifest.log.parted:
        faults.append("the manifest says wrongly whether the released log is in parts")
    dates: set[str] = set()
    for name, read_facts in FILES.items():
        try:
            text = modest(evidence.public / name).decode()
        except (OSError, UnicodeDecodeError):
            return False, f"public/{name} is missing or cannot be read"
        if len(text) > max(_LONGEST, _LONGER * len(ours)):
            return False, f"public/{name} is far longer than ours"
        facts = read_facts(text, manifest)
        known = f"{ours} {facts.date}"
        dates.add(facts.date)
        faults += [f"public/{name} {fault}" for fault in facts.faults]
        if numbers_of(facts.prose) - numbers_of(known):
            faults.append(f"public/{name} shows numbers that are not in the manifest")
        if names_of_log(evidence, words_of(facts.prose) - words_of(known)):
            faults.append(f"public/{name} names a user or a url of the log")
    if len(dates) > 1:
        faults.append("the files of the passport have different dates of publication")
    return not faults, "; ".join(faults) or "croissant.json and deployment.yaml state the same"


def _with_parts(evidence: Evidence) -> Manifest:
    """The manifest, with what older ones do not say: whether the released log is in parts."""
    log = evidence.manifest.log
    parted = (evidence.public / log.file).is_dir()
    return evidence.manifest.model_copy(update={"log": log.model_copy(update={"parted": parted})})


def _known(manifest: Manifest) -> str:
    """The texts that follow from the manifest, in which every number of a passport stands."""
    try:
        pages = [page(manifest) for page in PASSPORT.values()]
    except (BudgetError, KeyError, ValueError) as cause:
        raise NotPossibleError("the manifest has no valid budget or parameters") from cause
    return " ".join((*pages, manifest.model_dump_json()))


def checksum_file(evidence: Evidence) -> Finding:
    """Whether SHA256SUMS has the checksum of every other file of public/, and no other line."""
    if not (evidence.public / CHECKSUMS).is_file() and not same_words(evidence.manifest):
        return True, (
            "made by an earlier version, without a file of checksums; to add one: slogan passport "
            "RELEASE"
        )
    fault = checksum_faults(evidence.public)
    return fault is None, fault or "SHA256SUMS has the checksum of every file in public/"
