# Copyright 2026 superovoid_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""README and pages as in the repository: links have targets, the README's library code runs."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "generated" not in page.parts]
TESTS = [
    path for folder in ("superovoid", "superovoid_papers", ".") for path in (ROOT / folder / "test").rglob("test_*.py")
]


def anchors(page):
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_existing_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in path or "generated/" in path:  # a build of the site checks the latter
            continue
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_library_code_of_the_readme_runs_and_is_certified():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)[1]
    names = {}
    exec(code, names)
    assert names["result"].status.certified


def test_there_are_few_pages_and_each_is_short():
    pages = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
    assert len(pages) <= 35
    assert {
        str(page.relative_to(ROOT)): lines for page in pages if (lines := page.read_text("utf-8").count("\n")) >= 250
    } == {}


FOLDERS = r"superovoid(?:_ros|_papers|_interfaces|_demos)?|test|docs|config|urdf|examples|launch|\.ci"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
PLACEHOLDER = re.compile(r"(test_)?[A-Z]+(\.\w+)?")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "QUALITY_DECLARATION.md"], ids=lambda page: page.name)
def test_files_named_in_pages_exist(page):
    for path in PATH.findall(page.read_text(encoding="utf-8")):
        parts = path.split("/")
        placeholder = next((k for k, part in enumerate(parts) if PLACEHOLDER.fullmatch(part)), len(parts))
        assert ROOT.joinpath(*parts[:placeholder]).exists() or "generated" in parts, path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_tests_run_in_pages_exist(page):
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python3? -m\s+(superovoid[\w.]*)", text):
        assert importlib.util.find_spec(module), module
    for module in re.findall(r"\bsuperovoid(?:_ros|_papers)?(?:\.[a-z_0-9]+)+\b", text):
        *folders, last = module.split(".")
        around = ROOT if folders[0] == "superovoid_ros" else ROOT / folders[0]
        home = around.joinpath(*folders)
        home = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
        is_module = around.joinpath(*folders, last).is_dir() or around.joinpath(*folders, f"{last}.py").is_file()
        assert is_module or (home.is_file() and last in home.read_text(encoding="utf-8")), module
    for path, words in re.findall(r"pytest (?:-s )?((?:\w+/)?test/\S+?\.py)(?: -k (\w+))?", text):
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not words or re.search(rf"def test_\w*{words}", source), (path, words)
    for test in re.findall(r"`(test_\w+)`", text):
        assert any(f"def {test}(" in each.read_text(encoding="utf-8") for each in TESTS), test


@pytest.mark.ci
def test_commands_in_pages_are_known(tmp_path):
    from superovoid.cli.command_line import parse

    seen = set()
    for page in PAGES:
        for line in re.findall(r"(?:^    |`)(superovoid [^`\n]*)", page.read_text(encoding="utf-8"), re.M):
            line = re.sub(r"(--package \S+?)=\S+", r"\1=.", line)  # any existing folder
            words = line.split("#")[0].replace("--threads 1", "").split()
            if any(word == "..." or word.isupper() for word in words):
                continue
            seen.add(" ".join(words))
    assert len(seen) > 30
    for line in sorted(seen):
        words = [word.strip('"') for word in shlex.split(line)[1:]]
        for at, word in enumerate(words):  # files of the reader
            if word.endswith((".csv", ".mcap", ".srdf", ".urdf")) and not (ROOT / word).exists() and "://" not in word:
                file = tmp_path / Path(word).name
                file.touch()
                words[at] = str(file)
        if words[0] == "command":  # the word, as in "the `superovoid` command"
            continue
        is_named = len(words) == 1  # the name of a command, not a call
        try:
            parse([*words, "--help"] if is_named else words)
        except SystemExit as error:
            assert is_named and not error.code, f"{line}: exit code {error.code}"
