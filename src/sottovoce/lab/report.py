"""``discover --report``: one self-contained page with everything that a reader of the result should know."""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce import __version__
from sottovoce.claims.labels import natural_order
from sottovoce.claims.writing import whole_file
from sottovoce.digits import as_percent, decimals_for
from sottovoce.discovery import ChoiceResult, Result, describe_method
from sottovoce.discovery.comparison import Comparison
from sottovoce.discovery.pictures import Known
from sottovoce.discovery.schema import Column, Place, columns_in, for_people
from sottovoce.lab.plots import discovery_figure
from sottovoce.lab.standalone import standalone

_MOST_ROWS = 2000  # of truths; nobody reads a page with more
_MOST_USERS = 20
_MOST_LEFT_OUT = 100
_FIGURE = re.compile(r"[-−+]?(?:[0-9][0-9,.]*(?:e[-+]?[0-9]+)?%?|inf)$|[–]?$")


@dataclass(frozen=True)
class ResultReport:
    """What the page is made of."""

    result: Result | ChoiceResult
    source: str  # the name of the file
    command: str  # makes the same page
    noise: str | None = None
    comparison: Comparison | None = None
    scores: dict[str, Any] | None = None
    known: Known | None = None
    left_out: Sequence[dict[str, Any]] = field(default_factory=tuple)

    def write(self, path: str | Path) -> None:
        """Write the page; it appears whole or not at all."""
        parts = [
            self._opening(), self._warnings(), self._picture(), self._truths(), self._comparison(), self._weights(),
            self._left_out(), self._made(),
        ]  # fmt: skip
        with whole_file(path) as temporary:
            temporary.write_text(standalone(f"Truths in {self.source}", "\n".join(parts)), encoding="utf-8")

    def _opening(self) -> str:
        fit = self.result.fit
        state = "converged" if fit.converged_ else "did not converge"
        reason = f"<p>{escape(self.result.reason)}</p>" if self.result.reason else ""
        return f"""<h1>Truths in {escape(self.source)}</h1>
<p>{_counted(int(fit.claims_.sum()), "claim")} by {_counted(len(fit.users_), "user")} about
{_counted(len(fit.objects_), "object")}. {escape(describe_method(fit.name))} It {state} after
{_counted(fit.n_iter_, "iteration")}; {self.result.effective_users:,.1f} effective users (the equivalent number with
equal weights).</p>{reason}"""

    def _warnings(self) -> str:
        if not self.result.doubts:
            return "<h2>Warnings</h2><p>None.</p>"
        items = "".join(f"<li>{escape(doubt['text'])}</li>" for doubt in self.result.doubts)
        return f"<h2>Warnings</h2><ul>{items}</ul>"

    def _picture(self) -> str:
        if find_spec("matplotlib") is None:
            return ""
        drawn = io.BytesIO()
        discovery_figure(self.result, self.known).savefig(drawn, format="png", dpi=130)
        content = base64.b64encode(drawn.getvalue()).decode()
        beside = "intervals" if self.result.fit.kind_ == "number" else "chances"
        text = f"Truths with their {beside}, and the weights of the users; the numbers are in the tables below."
        return f'<figure><img src="data:image/png;base64,{content}" alt="{text}"></figure>'

    def _truths(self) -> str:
        result = self.result
        columns = [one for one in for_people(columns_in(Place.COMMAND, result.schema)) if not one.is_nested]
        entries = {one.name: one.values(result) for one in columns}
        titles = [f"{as_percent(result.level)} low" if one.name == "low" else one.title for one in columns]
        decimals = None
        if result.fit.kind_ == "number":
            low, high = result.interval
            decimals = decimals_for(float(np.median(high - low)) / 2)
        order = natural_order(result.fit.objects_)
        known = dict(zip(self.known[0].tolist(), self.known[1], strict=True)) if self.known else {}
        rows = [
            [
                result.fit.objects_[n],
                *(_figure(entries[one.name][n], one, decimals) for one in columns),
                *([_rounded(known.get(n), decimals)] if known else []),
            ]
            for n in order[:_MOST_ROWS].tolist()
        ]
        more = len(order) - len(rows)
        below = f"<p>… and {more:,} more; <code>--out FILE</code> writes them all.</p>" if more else ""
        heading = ["object", *titles, *(["known truth"] if known else [])]
        return f"<h2>Truths</h2>{_table(heading, rows)}{below}{self._scores()}"

    def _scores(self) -> str:
        scores = self.scores
        if not scores:
            return ""
        if "accuracy" in scores:
            rows = [
                [self.result.fit.name, f"{scores['accuracy']:.1%}"],
                ["majority", f"{scores['majority']['accuracy']:.1%}"],
            ]
            heading = [f"right out of {_counted(scores['objects'], 'known truth')}", "accuracy"]
        else:
            heading = [
                f"error over {_counted(scores['objects'], 'known truth')}",
                "MAE",
                "RMSE",
                f"within {as_percent(self.result.level)}",
            ]
            rows = [[self.result.fit.name, scores["mae"], scores["rmse"], f"{scores['coverage']:.0%}"]]
            rows += [[name, scores[name]["mae"], scores[name]["rmse"], ""] for name in ("mean", "median")]
        return f"<h3>Compared with known truths</h3>{_table(heading, rows)}"

    def _comparison(self) -> str:
        if self.comparison is None:
            return ""
        rows, numbers = self.comparison.rows(), self.result.fit.kind_ == "number"
        names = [name for name in rows[0] if name != "method"]
        titles = {"n_iter": "iterations", "effective_users": "effective users", "furthest": "differs most at",
                  "mae": "MAE", "rmse": "RMSE", "coverage": f"within {as_percent(self.result.level)}",
                  "apart": f"{'mean distance' if numbers else 'truths that differ'} from "
                           f"{rows[0]['method']}"}  # fmt: skip
        percent = ("coverage", "accuracy", *(() if numbers else ("apart",)))
        cells = [[row["method"], *(f"{row[n]:.0%}" if n in percent else row[n] for n in names)] for row in rows]
        return f"<h2>All methods</h2>{_table(['method', *(titles.get(name, name) for name in names)], cells)}"

    def _weights(self) -> str:
        fit = self.result.fit
        order = np.argsort(-fit.weights_, kind="stable")
        share = fit.weights_ / (fit.weights_.sum() or 1.0)
        chosen = order if len(order) <= 2 * _MOST_USERS else np.concatenate([order[:_MOST_USERS], order[-_MOST_USERS:]])
        rows = [[fit.users_[n], f"{share[n]:.2%}", int(self.result.claims_per_user[n])] for n in chosen.tolist()]
        half = f"the {_MOST_USERS} users with the most weight and the {_MOST_USERS} with the least"
        which = "" if len(chosen) == len(order) else f"<p>Only {half} are shown.</p>"
        return f"<h2>Whose claims counted</h2>{which}{_table(['user', 'share of the weight', 'claims'], rows)}"

    def _left_out(self) -> str:
        if not self.left_out:
            return ""
        rows = [[row["line"] or row["row"], row["reason"]] for row in self.left_out[:_MOST_LEFT_OUT]]
        more = len(self.left_out) - len(rows)
        below = f"<p>… and {more:,} more.</p>" if more else ""
        place = "line" if self.left_out[0]["line"] else "row"
        return f"<h2>Rows left out</h2>{_table([place, 'reason'], rows)}{below}"

    def _made(self) -> str:
        law = f"The noise law of the claims is {escape(self.noise)}." if self.noise else "No noise law was given."
        return f"""<h2>How this was made</h2>
<p>By Sottovoce {__version__}, with <code>{escape(repr(self.result.fit))}</code>. {law}</p>
<p><code>{escape(self.command)}</code></p>"""


def _figure(entry: Any, column: Column, decimals: int | None) -> Any:
    """Measured values get as many decimals as the width of the intervals allows."""
    if column.measured and decimals is not None:
        return _rounded(entry, decimals)
    return entry if column.decimals is None or entry is None else f"{entry:.{column.decimals}f}"


def _rounded(entry: Any, decimals: int | None) -> Any:
    return f"{entry:,.{decimals}f}" if decimals is not None and entry is not None and np.isfinite(entry) else entry


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table that scrolls within the page, also with the keyboard; columns of figures are aligned to the right."""
    texts = [[_cell(entry) for entry in row] for row in rows]
    styles = [
        ' class="figure"' if place and all(_FIGURE.match(row[place]) for row in texts) else ""
        for place in range(len(heading))
    ]
    head = "".join(f'<th scope="col"{style}>{escape(title)}</th>' for title, style in zip(heading, styles, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{style}>{escape(text)}</td>" for text, style in zip(row, styles, strict=True)) + "</tr>"
        for row in texts
    )
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(entry: Any) -> str:
    if entry is None:
        return "–"
    if isinstance(entry, bool | np.bool_):
        return "yes" if entry else "no"
    return f"{entry:,.5g}" if isinstance(entry, float | np.floating) else str(entry)
