"""python -m tools.studio_pictures: take the screenshots of the studio for its tutorial again.

Each is of the made-up log of the demo, as wide as a page. Look at them before they are committed.
`--all FOLDER` takes every screen, light and dark, wide and narrow, into a folder.
"""

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from tests.browser.test_report_pages import BROWSERS, FLAGS
from tests.browser.test_studio import walk, window

import slogan

ASSETS = Path(__file__).parents[1] / "docs/assets"
MAIN = {"x": 255, "y": 75, "width": 925, "height": 590}
SHOWN = {
    "load": "section[aria-labelledby=in-it]",
    "recipients": ".picks",
    "explore": MAIN,
    "release": ".confirm",
    "report": MAIN,
}
"""The screens of the tutorial, and what is shown of each: no path of this machine."""


def around(page, part):
    """A part of a page, with some room around it."""
    if not isinstance(part, str):
        return part
    box, room = page.locator(part).bounding_box(), 16
    x, y = box["x"] - room, box["y"] - room
    return {"x": x, "y": y, "width": box["width"] + 2 * room, "height": box["height"] + 2 * room}


def main() -> None:
    """Walk to the end, and take a picture of each screen."""
    everywhere = Path(sys.argv[2]) if sys.argv[1:2] == ["--all"] else None
    found = next(filter(None, map(shutil.which, BROWSERS)))

    def take(page, name):
        if everywhere is not None:
            for scheme in ("light", "dark"):
                for width in (1280, 400):
                    page.emulate_media(color_scheme=scheme)
                    page.set_viewport_size({"width": width, "height": 900})
                    file = everywhere / f"{name}-{scheme}-{width}.png"
                    page.screenshot(path=file, full_page=True)
            page.emulate_media(color_scheme="light")
        elif name in SHOWN:
            file, part = ASSETS / f"studio-{name}.png", SHOWN[name]
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=file, full_page=True, clip=around(page, part))
        page.set_viewport_size({"width": 1280, "height": 900})

    with sync_playwright() as driver, TemporaryDirectory() as folder:
        place = Path(folder)
        slogan.generate(place / "clicks.tsv", seed=1)
        with (
            driver.chromium.launch(executable_path=found, args=FLAGS) as browser,
            window(browser, place) as page,
        ):
            page.set_viewport_size({"width": 1280, "height": 900})
            log, release = place / "clicks.tsv", place / "release"
            walk(
                page,
                "web",
                log,
                release,
                population="shop-customers",
                size=("2500", "95"),
                check=take,
            )
    sizes = {file.name: file.stat().st_size for file in ASSETS.glob("studio-*.png")}
    print(re.sub(r"[{}']", "", str(sizes)))


if __name__ == "__main__":
    main()
