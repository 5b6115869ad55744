"""Reports about lowered programs, for people (text, HTML in notebooks) and for tools (dicts, data frames)."""

from __future__ import annotations

import html
import json
from typing import Any

from . import _depute


class Text(str):
    """Text that interactive sessions print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Report:
    """Every node's owner or the reasons why it has none, and the delegates, totals and times."""

    def __init__(self, native: _depute.Report) -> None:
        self._native = native

    @property
    def delegated_nodes(self) -> int:
        return self._native.delegated_nodes()

    @property
    def non_delegated_nodes(self) -> int:
        return self._native.non_delegated_nodes()

    @property
    def coverage(self) -> float:
        """Delegated share of all nodes, in percent."""
        return self._native.coverage()

    def summary(self, verbose: bool = False) -> Text:
        return Text(self._native.summary(verbose))

    def explain(self, node: str = "") -> Text:
        """Returns a line per node, or for one node: its owner, and why other backends refused it."""
        return Text(self._native.explain(node))

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON report (docs/cli.md) as a dict."""
        return json.loads(self._native.json())

    def to_html(self) -> str:
        """Returns the report as a self-contained page, as `--report FILE.html` writes it."""
        return self._native.html()

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def __repr__(self) -> str:
        return self.summary()


class DelegationBreakdown:
    """Numbers of delegated and undelegated nodes of one op."""

    __slots__ = ("op_type", "delegated", "non_delegated")

    def __init__(self, op_type: str = "", delegated: int = 0, non_delegated: int = 0) -> None:
        self.op_type = op_type
        self.delegated = delegated
        self.non_delegated = non_delegated

    def __repr__(self) -> str:
        return f"DelegationBreakdown({self.op_type!r}, delegated={self.delegated}, non_delegated={self.non_delegated})"


class DelegationInfo:
    """Counts of the delegates and nodes of a lowered program."""

    def __init__(self, subgraphs: int, delegated: int, non_delegated: int, operators: dict[str, DelegationBreakdown]) -> None:
        self.num_delegated_subgraphs = subgraphs
        self.num_delegated_nodes = delegated
        self.num_non_delegated_nodes = non_delegated
        self.delegation_by_operator = operators  # op -> DelegationBreakdown

    def get_summary(self) -> Text:
        return Text(
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def get_operator_delegation_dataframe(self) -> Any:
        """Returns a pandas DataFrame with a row per op, and the totals in the last row. Needs pandas."""
        import pandas

        rows = [(each.op_type, each.delegated, each.non_delegated) for each in self.delegation_by_operator.values()]
        rows.append(("Total", self.num_delegated_nodes, self.num_non_delegated_nodes))
        columns = ("op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs")
        return pandas.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return self.get_summary()


def get_delegation_info(program: Any) -> DelegationInfo:
    """Counts delegated nodes in a program, a method, a manager, or a method's graph module."""
    from .graph import GraphModule
    from .program import as_program

    program = program._program if isinstance(program, GraphModule) else as_program(program)
    subgraphs, delegated, non_delegated, ops = _depute.delegation_info(program._native)
    breakdowns = {op: DelegationBreakdown(op, *counts) for op, counts in sorted(ops.items())}
    return DelegationInfo(subgraphs, delegated, non_delegated, breakdowns)


def print_delegation_info(program: Any) -> None:
    info = get_delegation_info(program)
    print(info.get_summary())
    print(info.get_operator_delegation_dataframe().to_string(index=False))
