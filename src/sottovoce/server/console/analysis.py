"""The analyst's question and its answer: the same as ``sottovoce discover``, for an uploaded file.

Everything happens in memory; nothing is kept after the response.
"""

import shlex
import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from sottovoce.claims import Claims
from sottovoce.claims.budget import Budget, FileTooLarge
from sottovoce.claims.kinds import Kind, check_duplicates
from sottovoce.claims.labels import label_column
from sottovoce.discovery import METHODS, ChoiceResult, Result, TruthDiscovery, make_method, takes
from sottovoce.discovery.doubts import FILE
from sottovoce.discovery.explanation import Explanation, explain
from sottovoce.discovery.result import discovered
from sottovoce.discovery.schema import Place, columns_in
from sottovoce.errors import BadParameter, ConvergenceWarning
from sottovoce.server.console.uploads import Upload
from sottovoce.server.exports import encode_table
from sottovoce.server.results import LEVEL, doubts_about, figures_of, weights_of

Duplicates = Literal["error", "mean", "last"]
MOST_CLAIMS = 1_000_000
MOST_SECONDS = 20.0
_MOST_UNPACKED = 64 << 20  # bytes: Parquet can hold much in little
_ROWS_SHOWN = 500
_ROWS_SAVED = 20_000


def choices() -> tuple[str, ...]:
    """Methods to choose from; the plain ones are always there."""
    return tuple(name for name, method in METHODS.items() if not method.plain)


@dataclass(frozen=True)
class Question:
    """The form, as it was filled in."""

    claims: Upload
    methods: tuple[str, ...]  # the first is drawn with its interval and named in the table
    user: str = "user"
    object: str = "object"
    value: str = "value"
    duplicates: Duplicates = "error"
    skip_bad: bool = False
    noise: str = ""
    decimal: str = ""
    strip_units: bool = False
    encoding: str = ""
    explained: str = ""  # label of an object
    kind: Literal["", Kind] = ""  # of the values; "": numbers, or choices if they are text
    truth: Upload | None = None

    def __post_init__(self) -> None:
        if not self.methods:
            raise BadParameter("no method: at least one is needed; tick one")
        known = choices()
        unknown = [name for name in self.methods if name not in known]
        if unknown:
            raise BadParameter(f"method {unknown[0][:60]!r}: it must be one of {', '.join(known)}; tick one of them")
        check_duplicates(self.duplicates[:60])
        if self.kind not in ("", *get_args(Kind)):
            raise BadParameter(f"kind={self.kind[:60]!r}: it must be 'number' or 'choice'; choose one, or none")

    def commands(self) -> list[list[str]]:
        """The same question as commands, one per method, quoted for a shell."""
        options: list[str] = []
        for name in ("user", "object", "value"):
            if getattr(self, name) != name:
                options += [f"--{name}", getattr(self, name)]
        if self.duplicates != "error":
            options += ["--duplicates", self.duplicates]
        if self.skip_bad:
            options.append("--skip-bad")
        for name in ("kind", "decimal", "encoding"):
            if getattr(self, name):
                options += [f"--{name}", getattr(self, name)]
        if self.strip_units:
            options.append("--strip-units")
        truth = ["--truth", self.truth.name] if self.truth is not None else []
        commands = []
        for method in self.methods:
            noise = ["--noise", self.noise] if self.noise and takes(method, "noise") else []
            out = "truths.csv" if len(self.methods) == 1 else f"truths-{method}.csv"
            words = [
                "sottovoce",
                "discover",
                self.claims.name,
                "--method",
                method,
                *noise,
                *options,
                *truth,
                "--out",
                out,
            ]
            commands.append([shlex.quote(word) for word in words])
        if self.explained:
            method = self.methods[0]
            noise = ["--noise", self.noise] if self.noise and takes(method, "noise") else []
            words = ["sottovoce", "explain", self.claims.name, self.explained, "--method", method, *noise, *options]
            commands.append([shlex.quote(word) for word in words])
        return commands

    def answer(self) -> "Answer":
        """Read, fit and compare. Mistakes in the file or the form are raised with the library's own messages."""
        spent = last = 0.0

        def in_time(done: int, move: float) -> None:
            nonlocal spent, last
            now = time.monotonic()
            if done > 1:  # the first iteration may have to compile its kernels, which takes long on a slow machine
                spent += now - last
            last = now
            if spent > MOST_SECONDS:
                raise FileTooLarge(
                    f"{self.claims}: the computation took more than {MOST_SECONDS:g} s, the limit on the server; "
                    "use the command line instead, which has no time limit"
                )

        claims = self._read()
        self._check_kinds(claims.kind)
        law = self.noise or claims.noise
        compared = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # shown beside the method instead
            for name in self.methods:
                in_time(0, 0.0)
                compared.append(discovered(make_method(name, noise=law), claims, LEVEL, progress=in_time))
        scores = [self._scores(result) for result in compared] if self.truth is not None else None
        explanation = explain(compared[0], claims, self.explained) if self.explained else None
        return Answer.of(self, claims, law, compared, scores, explanation)

    def _check_kinds(self, kind: Kind) -> None:
        """Refuse methods that do not work with claims of this kind, by the names that the page has."""
        usable = [name for name in choices() if kind in METHODS[name].kinds]
        for name in self.methods:
            if name not in usable:
                raise BadParameter(
                    f"method {name!r}: it works with {' and '.join(f'{one}s' for one in METHODS[name].kinds)}, but "
                    f"these claims are {kind}s; tick only methods for {kind}s: {', '.join(usable)}"
                )

    def _read(self) -> Claims:
        return Claims.read(
            self.claims,
            user=self.user,
            object=self.object,
            value=self.value,
            duplicates=self.duplicates,
            skip_bad=self.skip_bad,
            kind=self.kind or None,
            decimal=self.decimal or None,
            strip_units=self.strip_units,
            encoding=self.encoding or None,
            budget=Budget(MOST_CLAIMS, _MOST_UNPACKED),
        )

    def _scores(self, result: Result | ChoiceResult) -> dict[str, Any]:
        assert self.truth is not None
        self.truth.seek(0)
        # A stream is read as well as a path.
        return result.scores(self.truth, object=self.object, value=self.value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class MethodLine:
    """A method in the table of methods, compared with the first."""

    name: str
    iterations: int | None
    converged: bool
    effective_users: float | None
    apart: float  # mean difference from the first method; for choices, the share of truths that differ
    furthest: float
    furthest_at: str
    scores: dict[str, float] | None


@dataclass(frozen=True)
class Answer:
    """What the page shows."""

    question: Question
    kind: Kind
    claims: int
    users: int
    objects: int
    skipped: int
    noise: str | None
    reason: str | None
    lines: list[MethodLine]
    rows: list[dict[str, Any]]  # the first rows, as in the results of a campaign; `others` are the other methods'
    weights: dict[str, list[Any]]
    warnings: list[dict[str, str]]
    known: int | None  # objects whose truth is known
    saved: str | None  # all rows as CSV; None if they are too many for a page
    explanation: Explanation | None  # of the object that was asked about

    @property
    def level(self) -> float:
        return LEVEL

    @classmethod
    def of(
        cls,
        question: Question,
        claims: Claims,
        law: str | None,
        compared: list[Result | ChoiceResult],
        scores: list[dict[str, Any]] | None,
        explanation: Explanation | None = None,
    ) -> "Answer":
        first, tables = compared[0], [_rows(one) for one in compared]
        labels = map(str, first.fit.objects_[:_ROWS_SHOWN].tolist())
        rows = [
            {"task": label, "title": "", "unit": "", **figures, "others": [table[place] for table in tables[1:]]}
            for place, (label, figures) in enumerate(zip(labels, tables[0], strict=False))
        ]
        known: list[dict[str, Any] | None] = [None] * len(compared) if scores is None else list(scores)
        lines = [
            _line(one.fit.name, one.fit, one.fit.truths_, first, score, one.effective_users)
            for one, score in zip(compared, known, strict=True)
        ]
        for name, truths in first.plain.items():
            lines.append(_line(name, None, truths, first, known[0] and known[0][name], None))
        table = _table(compared)
        return cls(
            question, claims.kind, len(claims), claims.n_users, claims.n_objects, claims.skipped, law, first.reason,
            lines, rows, weights_of([first]), doubts_about(first, claims.n_objects, 1, words=FILE),
            known[0]["objects"] if known[0] else None,
            encode_table(table, "csv").decode() if len(table) <= _ROWS_SAVED else None, explanation,
        )  # fmt: skip


def _rows(result: Result | ChoiceResult) -> list[dict[str, Any]]:
    """What the command shows of each object; answers are text, whatever their type in the file."""
    labels = [column.name for column in columns_in(Place.COMMAND, result.schema) if column.is_label]
    return [
        row | {name: str(row[name]) for name in labels if row[name] is not None}
        for row in figures_of(result, Place.COMMAND)
    ]


def _line(
    name: str,
    fit: TruthDiscovery | None,
    truths: Any,
    first: Result | ChoiceResult,
    scores: Any,
    effective_users: float | None,
) -> MethodLine:
    apart = first.apart(truths)
    furthest = int(apart.argmax())
    return MethodLine(
        name, fit.n_iter_ if fit else None, fit.converged_ if fit else True, effective_users,
        float(apart.mean()), float(apart[furthest]), str(first.fit.objects_[furthest]), scores,
    )  # fmt: skip


def _table(compared: list[Result | ChoiceResult]) -> pa.Table:
    """What the command writes with ``--out``, with a column for the truths of each other method."""
    first = compared[0]
    table = first.table(Place.COMMAND)
    for other in compared[1:]:
        table = table.append_column(other.fit.name, label_column(other.fit.truths_))
    return table
