"""The base class of all rules."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

from medcontract.problems import Finding, Path, Ref, Severity


class Rule(Struct, frozen=True, kw_only=True):
    """Fields that all kinds of rules have."""

    kind: ClassVar[str]
    scope: ClassVar[Literal["object", "list", "files"]]
    code: str
    message: str
    hint: str | None = None
    severity: Severity = "error"

    def publish(self) -> dict[str, Any]:
        """The rule as JSON."""
        data: dict[str, Any] = {"kind": self.kind, "scope": self.scope}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value != ():
                data[name] = _listed(value)
        return data

    def finding(self, path: Path, ref: Ref | None = None, hint: str | None = None) -> Finding:
        return Finding(self.code, self.message, hint or self.hint, self.severity, path, ref)


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
