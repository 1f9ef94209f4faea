"""A click group that suggests the most similar command, whatever the version of click."""

from __future__ import annotations

import os
import shlex

import click

from medcontract import api


class SuggestingGroup(click.Group):
    """A group whose message about an unknown command names the most similar one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = api.suggestion(name, self.list_commands(ctx)) or self._forgotten_command(ctx, args)
        hint = f" {hint[0].upper()}{hint[1:]}" if hint else ""
        raise click.UsageError(f"No such command '{name}'.{hint}", ctx)

    def _forgotten_command(self, ctx: click.Context, args: list[str]) -> str | None:
        """A hint for `medcontract out.json`, if there is such a file."""
        if ctx.parent is None and os.path.exists(api.path_of(args[0])):
            return f"To check the file: {shlex.join(['medcontract', 'validate', *args])}"
        return None
