"""The documentation site is built without a warning and needs nothing from other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import pytest

import edgewatt

ROOT = Path(__file__).parents[1]
pytest.importorskip("material", reason="the site is built with mkdocs-material (the extra docs)")
if sys.version_info < (3, 11) and int(version("pymdown-extensions").partition(".")[0]) >= 12:
    pytest.skip("the last mkdocstrings for Python 3.10 needs pymdown-extensions before 12", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    # A notice of the theme's makers on its successor, which is no warning of the site's.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class _Loaded(HTMLParser):
    """Addresses that a browser fetches when it shows a page: not those of links."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"link": "href", "object": "data"}.get(tag, "src")
        if tag != "a":
            self.addresses += [value for name, value in attrs if name in (names, "srcset", "poster") and value]


def loaded(html: str) -> list[str]:
    """Addresses that a page fetches."""
    parser = _Loaded()
    parser.feed(html)
    return parser.addresses + re.findall(r"(?:@import|url\()\s*['\"]?([^'\")\s]+)", html)


def test_every_page_of_docs_is_a_page_of_the_site(site: Path) -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert {page.stem for page in site.glob("*.html")} == pages | {"404"}
    home = (site / "index.html").read_text()
    # The navigation has them all.
    assert {name for name in pages if f'href="{name}.html"' in home or name == "index"} == pages


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    addresses = {(page.name, address) for page in pages for address in loaded(page.read_text())}
    assert any(address.endswith(".css") for _, address in addresses)
    assert [found for found in addresses if re.match(r"(https?:)?//", found[1])] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text()), sheet.name


def test_what_is_fetched_from_elsewhere_is_told() -> None:
    assert loaded('<script src="https://example.com/x.js"></script>') == ["https://example.com/x.js"]
    assert loaded("<style>@import 'https://example.com/x.css';</style>") == ["https://example.com/x.css"]
    assert loaded('<a href="https://example.com">there</a>') == []


def test_every_public_name_is_on_the_page_of_the_api(site: Path) -> None:
    html = (site / "api.html").read_text()
    names = [name for name in edgewatt.__all__ if name != "__version__"]
    missing = [name for name in names if f'id="edgewatt.{name}"' not in html]
    assert missing == [], "name them in docs/api.md"
