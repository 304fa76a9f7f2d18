"""Who asks a served Datasette: somebody with no cookie, or with the cookie and token of one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from datasette.app import Datasette

from support.datasette_site import KEEPS_QUERIES, served

_SECRET = "a secret of the tests"


@contextmanager
def serving(
    *arguments: str | Path, configuration: dict[str, Any] | None = None, folder: Path
) -> Iterator["Web"]:
    """Datasette on loopback, where root may log in; its configuration is a file in `folder`."""
    options: list[str | Path] = ["--secret", _SECRET, "--root"]
    if configuration is not None:
        file = folder / "configuration.json"
        file.write_text(json.dumps(configuration), encoding="utf-8")
        # 0.65 reads from its metadata what 1.0 calls its configuration.
        options += ["-c" if KEEPS_QUERIES else "-m", file]
    with served(*options, *arguments) as client:
        yield Web(client)


def may(action: str, who: object) -> dict[str, Any]:
    """A configuration by which `who`, an allow block, may do `action` on the database telemetry."""
    return {"databases": {"telemetry": {"permissions": {action: who}}}}


class Web:
    """A served Datasette, asked by one actor or another."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._cookies: dict[str, dict[str, str]] = {}

    def cookies(self, actor: str | None) -> dict[str, str]:
        """Those of a browser in which `actor` is logged in, with 0.65's token against forgery."""
        if actor is None:
            return {}
        if actor not in self._cookies:
            signed = Datasette(secret=_SECRET).sign({"a": {"id": actor}}, "actor")
            cookies = {"ds_actor": signed}
            answer = self.client.get("/-/logout", headers=_header(cookies))
            self._cookies[actor] = cookies | dict(answer.cookies)
            self.client.cookies.clear()
        return self._cookies[actor]

    def ask(
        self,
        method: str,
        path: str,
        actor: str | None = None,
        *,
        form: dict[str, Any] | None = None,
        token: bool = True,
        headers: dict[str, str] | None = None,
        **sent: Any,
    ) -> httpx.Response:
        """The answer; `token` False leaves out what 0.65 wants against forged requests."""
        cookies = self.cookies(actor)
        held = cookies.get("ds_csrftoken") if token else None
        said = {**_header(cookies), **(headers or {})}
        if form is not None:
            sent["data"] = {**form, **({"csrftoken": held} if held else {})}
        elif held:
            said["x-csrftoken"] = held
        answer = self.client.request(method, path, headers=said, **sent)
        self.client.cookies.clear()
        return answer


def _header(cookies: dict[str, str]) -> dict[str, str]:
    if not cookies:
        return {}
    return {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
