"""Entry of a git-installed Hermes plugin: the host imports this folder under a name of its own."""


def register(ctx: object) -> None:
    """Registers the hooks and commands with the host's plugin context."""
    # Inside the function: tools that take a clone's root for a package import this file too.
    from .hermes_telemetry import register as register_all

    register_all(ctx)
