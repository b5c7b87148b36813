"""Settings for every test: no deadlines, because machines are shared and noisy."""

from hypothesis import settings

settings.register_profile("shared", deadline=None, print_blob=True)
settings.load_profile("shared")
