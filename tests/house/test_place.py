"""The project runs anywhere: its files name no machine's paths and no package registry."""

import re

from support.tree import ROOT, project_files

# Homes and mount points of one machine. /tmp, /etc and /usr/bin exist everywhere.
MACHINE_PATH = re.compile(r"(?<![\w.$}~])/(?:root|work|opt|home/\w+|Users/\w+)/\w")
REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|test\.pypi|registry\.npmjs|registry\.yarnpkg|deb\.debian\.org"
    r"|archive\.ubuntu\.com|proxy\.golang\.org|crates\.io|--(?:extra-)?index-url\b"
)


def lines_matching(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{file}:{number}: {line.strip()[:100]}"
        for file in project_files()
        for number, line in enumerate(
            (ROOT / file).read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert lines_matching(MACHINE_PATH) == []


def test_no_file_names_the_place_where_the_project_lies() -> None:
    assert lines_matching(re.compile(re.escape(f"{ROOT}/"))) == []


def test_no_file_names_a_package_registry() -> None:
    assert lines_matching(REGISTRY) == []


def test_the_patterns_find_what_they_look_for() -> None:
    # Put together here, so that this file passes its own test.
    for path in ("root/x", "work/main", "home/ann/telemetry.db", "Users/ann/x", "opt/x/bin"):
        assert MACHINE_PATH.search("/" + path), path
    for path in ("/-/telemetry/prune", "$HOME/work/x", "~/opt/x", "datasette/home/page"):
        assert not MACHINE_PATH.search(path), path
    assert REGISTRY.search("https://" + "pypi" + ".org/simple")
