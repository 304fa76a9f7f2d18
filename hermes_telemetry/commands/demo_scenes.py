"""Who does what in the demo ledger: one scene is one session, with the subagents it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from .demo_fleet import (
    CODEX,
    DEEPSEEK,
    FLASH,
    FREE,
    GONE,
    HAIKU,
    HERMES,
    HOUSE,
    INTERACTIVE,
    KIMI,
    LLAMA,
    NEMOTRON,
    OPUS,
    QWEN,
    SONNET,
    STEALTH,
    Model,
)

Trouble = Literal["", "storm", "auth", "gone"]
Habit = Literal["", "loop", "thrash"]


@dataclass(slots=True)
class Scene:
    """A session: `calls` are its own, `children` name the own call after which each starts.

    `at` is its start in µs. An `old_host` sends no turn ids and names no subagents; a `cut_off`
    subagent runs in the background of a process that ends before it does; an `orphan`'s parent
    was never recorded.
    """

    at: int
    platform: str
    model: Model
    calls: int
    profile: str = "default"
    sender: str | None = None
    job: str | None = None
    children: list[tuple[int, Scene]] = field(default_factory=list)
    trouble: Trouble = ""
    habit: Habit = ""
    moa_preset: str | None = None
    old_host: bool = False
    cut_off: bool = False
    orphan: bool = False

    def all_calls(self) -> int:
        """The calls of the whole tree."""
        return self.calls + sum(child.all_calls() for _, child in self.children)

    def cut(self, calls: int) -> Scene:
        """The same session with `calls` calls and no subagents."""
        return replace(self, calls=calls, children=[])


@dataclass(frozen=True, slots=True)
class Job:
    """A cron job: its id, the minute at which it runs, in which hours (UTC), on which weekday.

    A host's ids are hexadecimal and its jobs.json names them. A ledger holds ids alone and may be
    looked at anywhere, so the ids here are names.

    `share` is how much of all calls it may take: where that is less than it would need, it does
    not run each time, for a small ledger would hold nothing else.
    """

    id: str
    minute: int
    hours: tuple[int, ...]
    models: tuple[Model, ...]
    calls: tuple[int, int]
    share: float
    subagents: int = 0
    weekday: int | None = None
    profile: str = "default"

    @property
    def days_between(self) -> float:
        """Days from one run to the next."""
        return 7 if self.weekday is not None else 1 / len(self.hours)


_EVERY_HOUR = tuple(range(24))
JOBS = (
    Job("nightly-report", 0, (3,), (SONNET,), (8, 16), 0.25, subagents=3),
    Job("inbox-triage", 15, _EVERY_HOUR, (FLASH, STEALTH), (2, 4), 0.08),
    Job("price-check", 40, _EVERY_HOUR[::2], (DEEPSEEK, FREE), (2, 3), 0.05, profile="work"),
    Job("weekly-review", 0, (7,), (OPUS,), (10, 20), 0.1, subagents=2, weekday=0, profile="work"),
)
_PRICE_WATCH = JOBS[2]

_PEOPLE = (
    ("cli", None, "default", 38),
    ("cli", None, "work", 20),
    ("telegram", "418230771", "default", 16),
    ("telegram", "552019384", "default", 7),
    ("telegram", "733105528", "default", 4),
    ("discord", "908172635443120174", "work", 10),
    ("discord", "661203948571029384", "work", 5),
)


def session(rng: Random, at: int, **fixed: object) -> Scene:
    """A person's session at `at`; `fixed` are fields that are not left to chance."""
    platform, sender, profile, _ = rng.choices(_PEOPLE, [weight for *_, weight in _PEOPLE])[0]
    model = rng.choices(list(INTERACTIVE), list(INTERACTIVE.values()))[0]
    calls = min(80, max(1, round(rng.lognormvariate(1.9, 0.8))))
    scene = Scene(at, platform, model, calls, profile=profile, sender=sender)
    scene = replace(scene, **fixed)  # type: ignore[arg-type]
    if scene.calls >= 4 and not scene.trouble and not scene.habit and rng.random() < 0.1:
        _delegate(rng, scene, 1)
    if scene.platform == "cli" and scene.model is SONNET and rng.random() < 0.04:
        scene.moa_preset = "council"
    return scene


def cron_run(rng: Random, job: Job, at: int) -> Scene:
    """One run of a job."""
    model = rng.choice(job.models)
    scene = Scene(at, "cron", model, rng.randint(*job.calls), profile=job.profile, job=job.id)
    if job.subagents:
        _delegate(rng, scene, rng.randint(1, job.subagents), nested=rng.random() < 0.3)
    return scene


def _delegate(rng: Random, scene: Scene, subagents: int, *, nested: bool = False) -> None:
    """Gives a session subagents; with `nested` the first of them starts one of its own."""
    for number in range(subagents):
        child = subagent(rng, scene, rng.choice((HAIKU, FLASH, scene.model)), rng.randint(2, 7))
        if nested and number == 0:
            child.children.append((1, subagent(rng, scene, HAIKU, rng.randint(1, 4))))
        scene.children.append((rng.randint(1, max(1, scene.calls - 1)), child))


def subagent(rng: Random, parent: Scene, model: Model, calls: int) -> Scene:
    """A subagent's session; its start is set when its parent reaches it."""
    return Scene(
        parent.at, "subagent", model, calls, profile=parent.profile, old_host=parent.old_host
    )


def _storm(rng: Random, at: int) -> Scene:
    return session(rng, at, calls=rng.randint(4, 7), model=QWEN, trouble="storm")


def _auth(rng: Random, at: int) -> Scene:
    return replace(cron_run(rng, _PRICE_WATCH, at), calls=0, trouble="auth")


def _gone(rng: Random, at: int) -> Scene:
    return session(rng, at, calls=rng.randint(0, 3), model=GONE, trouble="gone")


def _cut_off(rng: Random, at: int) -> Scene:
    scene = session(rng, at, calls=3, platform="cli", sender=None)
    child = subagent(rng, scene, HAIKU, 2)
    child.cut_off = True
    scene.children = [(2, child)]
    return scene


def _nested(rng: Random, at: int) -> Scene:
    scene = session(rng, at, calls=6, model=SONNET)
    scene.children = []
    _delegate(rng, scene, 2, nested=True)
    return scene


def _old_delegation(rng: Random, at: int) -> Scene:
    scene = session(rng, at, calls=4, old_host=True)
    scene.children = [(2, subagent(rng, scene, HAIKU, 3))]
    return scene


def _orphan(rng: Random, at: int) -> Scene:
    return Scene(at, "subagent", HAIKU, 3, orphan=True)


def _runaway(rng: Random, at: int) -> Scene:
    return session(rng, at, calls=75, model=OPUS, platform="cli", sender=None, habit="loop")


def _council(rng: Random, at: int) -> Scene:
    return session(rng, at, calls=4, model=SONNET, platform="cli", moa_preset="council")


def _of(model: Model) -> Callable[[Random, int], Scene]:
    return lambda rng, at: session(rng, at, calls=rng.randint(2, 4), model=model)


def _with(habit: Habit) -> Callable[[Random, int], Scene]:
    return lambda rng, at: session(rng, at, calls=rng.randint(12, 16), habit=habit)


# What must happen however small the ledger is, by share of the period; twice where it can, so that
# the last month shows it as well.
SET_PIECES: tuple[tuple[float, Callable[[Random, int], Scene]], ...] = (
    (0.02, _old_delegation),
    (0.04, _orphan),
    (0.10, _of(HOUSE)),
    (0.12, _of(CODEX)),
    (0.14, _of(HERMES)),
    (0.15, _of(STEALTH)),
    (0.20, _of(FREE)),
    (0.25, _storm),
    (0.30, _with("loop")),
    (0.35, _of(LLAMA)),
    (0.40, _nested),
    (0.45, _with("thrash")),
    (0.50, _cut_off),
    (0.55, _council),
    (0.60, _of(GONE)),
    (0.66, _storm),
    (0.70, _auth),
    (0.74, _of(STEALTH)),
    (0.78, _gone),
    (0.80, _auth),
    (0.82, _of(HOUSE)),
    (0.825, _of(FREE)),
    (0.83, _of(CODEX)),
    (0.84, _gone),
    (0.85, _of(KIMI)),
    (0.86, _council),
    (0.88, _of(LLAMA)),
    (0.885, _runaway),
    (0.89, _of(HERMES)),
    (0.90, _storm),
    (0.91, _of(NEMOTRON)),
    (0.92, _nested),
    (0.93, _with("loop")),
    (0.94, _orphan),
    (0.95, _cut_off),
    (0.96, _with("thrash")),
    (0.97, _gone),
    (0.98, _storm),
    (1.0, _of(SONNET)),
)
