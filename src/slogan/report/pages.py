"""The files of public/ that follow from the manifest: pages for people and for catalogues."""

from slogan.report.croissant import croissant_page
from slogan.report.deployment import deployment_page
from slogan.report.public import card_page, public_page

PASSPORT = {"croissant.json": croissant_page, "deployment.yaml": deployment_page}
"""What catalogues and registries read, by file name."""
HTML_PAGES = {"report.html": public_page, "data-card.html": card_page}
PUBLIC_PAGES = {**HTML_PAGES, **PASSPORT}
"""By file name; each is a function of the manifest and nothing else."""
