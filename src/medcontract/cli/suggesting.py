"""A click group that suggests the most similar command, and refuses names of files that would be options."""

from __future__ import annotations

import os
import shlex

import click

from medcontract import api
from medcontract.errors import CallError


class SuggestingGroup(click.Group):
    """A group whose message about an unknown command names the most similar one.

    Every group checks the arguments of its command, because a `--` before the command only ends the group's options.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing:
            _refuse_file_names(before_dashes(args))
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from medcontract.contracts.suggestions import did_you_mean  # slow to import

        hint = did_you_mean(name, self.list_commands(ctx)) or self._forgotten_command(ctx, args)
        hint = f" {hint[0].upper()}{hint[1:]}" if hint else ""
        raise click.UsageError(f"No such command '{name}'.{hint}", ctx)

    def _forgotten_command(self, ctx: click.Context, args: list[str]) -> str | None:
        """A hint for `medcontract out.json`, if there is such a file."""
        if ctx.parent is None and os.path.exists(api.path_of(args[0])):
            return f"To check the file: {shlex.join(['medcontract', 'validate', *args])}"
        return None


def before_dashes(args: list[str]) -> list[str]:
    """The arguments that may be options: those before `--`."""
    return args[: args.index("--")] if "--" in args else args


def _refuse_file_names(args: list[str]) -> None:
    """Raise `CallError` if an option is also the name of a file: a shell may have expanded a pattern to it."""
    for word in args:
        if word.startswith("-") and os.path.lexists(word):
            raise CallError(
                f"'{word}' is also the name of a file",
                f"write {shlex.quote(f'./{word}')} for the file; what follows -- is never an option",
            )
