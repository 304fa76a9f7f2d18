"""A login link that does not work says what to do."""

from collections.abc import Callable
from pathlib import Path

from support.datasette_site import Page, Site

LINK = "/-/auth-token?token="


def test_the_link_of_another_start_and_a_used_one(sites: Callable[..., Site], ledger: Path) -> None:
    site = sites(ledger)
    site.datasette.root_enabled = True
    token = site.datasette._root_token
    other = Page(site.get(f"{LINK}wrong", status=403).text).text
    assert "Follow the link that the server printed when it was started last." in other
    site.get(LINK + token, status=302)
    used = Page(site.get(LINK + token, status=403).text).text
    assert "This login link has already been used; it works once." in used
    assert "stop the server, start it again" in used
    # Any other page that is forbidden is Datasette's own.
    assert "login link has" not in site.get("/-/permissions", status=403).text
